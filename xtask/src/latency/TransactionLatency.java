// How long transactions of one record take with Java's KafkaProducer. Run by `cargo xtask latency`; see peers.rs for the protocol.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public class TransactionLatency {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("transactional.id", arguments[2]);
        properties.put("acks", "all");
        properties.put("linger.ms", "0");
        StringSerializer text = new StringSerializer();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties, text, text)) {
            producer.initTransactions();
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                System.out.println(round(producer, arguments[1], Integer.parseInt(line.trim())));
                System.out.flush();
            }
        }
    }

    private static String round(KafkaProducer<String, String> producer, String topic, int count) {
        StringBuilder figures = new StringBuilder();
        for (int number = 0; number < count; number++) {
            long begun = System.nanoTime();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 0, null, "one"));
            producer.commitTransaction();
            figures.append(System.nanoTime() - begun).append(' ');
        }
        return figures.toString();
    }
}
