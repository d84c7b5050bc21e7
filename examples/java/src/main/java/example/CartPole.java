package example;

import com.google.rpc.ErrorInfo;
import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import example.envwire.v1.CloseRequest;
import example.envwire.v1.EnvironmentServiceGrpc;
import example.envwire.v1.EnvironmentServiceGrpc.EnvironmentServiceBlockingStub;
import example.envwire.v1.MakeRequest;
import example.envwire.v1.MakeResponse;
import example.envwire.v1.ResetRequest;
import example.envwire.v1.ResetResponse;
import example.envwire.v1.SessionHeader;
import example.envwire.v1.StepRequest;
import example.envwire.v1.StepResponse;
import example.envwire.v1.Value;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.nio.ByteOrder;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** Drives one episode of CartPole with only the .proto files, by unary calls. */
public final class CartPole {
  private static final long SEED = 7;
  private static final long TIMEOUT_SECONDS = 30;

  private CartPole() {}

  /** One environment, and the number of its last request. */
  private static final class Session implements AutoCloseable {
    private final EnvironmentServiceBlockingStub client;
    private final SessionHeader header;
    private long sequence;

    Session(EnvironmentServiceBlockingStub client, String id) {
      MakeResponse made = client.make(MakeRequest.newBuilder().setEnvId(id).build());
      System.out.printf("made %s: %d actions%n", id, made.getActionSpace().getDiscrete().getN());
      this.client = client;
      this.header =
          SessionHeader.newBuilder()
              .setSessionId(made.getSessionId())
              .setSecret(made.getSecret())
              .build();
    }

    // A request without an answer may be repeated with its number.

    ResetResponse reset() {
      return client.reset(
          ResetRequest.newBuilder()
              .setHeader(header)
              .setSequence(++sequence)
              .setSeed(integer(SEED))
              .build());
    }

    // --8<-- [start:step]
    StepResponse step(long action) {
      return client.step(
          StepRequest.newBuilder()
              .setHeader(header)
              .setSequence(++sequence)
              .setAction(integer(action))
              .build());
    }
    // --8<-- [end:step]

    @Override
    public void close() {
      client.close(CloseRequest.newBuilder().setHeader(header).setSequence(++sequence).build());
    }
  }

  private static Value integer(long value) {
    return Value.newBuilder().setIntValue(value).build();
  }

  /** Pushes to the side to which the pole leans. The elements of an array are packed, little-endian. */
  private static long policy(Value observation) {
    float angle =
        observation
            .getArray()
            .getData()
            .asReadOnlyByteBuffer()
            .order(ByteOrder.LITTLE_ENDIAN)
            .getFloat(2 * Float.BYTES);
    return angle > 0 ? 1 : 0;
  }

  /** Resets, steps to the end of the episode, and prints its length and the sum of its rewards. */
  private static void episode(Session env) {
    Value observation = env.reset().getObservation();
    int steps = 0;
    double total = 0;
    for (boolean ended = false; !ended; steps++) {
      StepResponse answer = env.step(policy(observation));
      observation = answer.getObservation();
      total += answer.getReward();
      ended = answer.getTerminated() || answer.getTruncated();
    }
    System.out.printf(Locale.ROOT, "%d steps, return %.1f%n", steps, total);
  }

  /** Returns the reason of a server's error; empty for an error of gRPC itself. */
  private static String reason(StatusRuntimeException error) throws InvalidProtocolBufferException {
    for (Any detail : StatusProto.fromThrowable(error).getDetailsList()) {
      if (detail.is(ErrorInfo.class)) {
        ErrorInfo info = detail.unpack(ErrorInfo.class);
        return info.getDomain().equals("envwire") ? info.getReason() : "";
      }
    }
    return "";
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments.length != 1) {
      throw new IllegalArgumentException("name the HOST:PORT of a server");
    }
    ManagedChannel channel =
        ManagedChannelBuilder.forTarget(arguments[0]).usePlaintext().build();
    try {
      EnvironmentServiceBlockingStub client =
          EnvironmentServiceGrpc.newBlockingStub(channel)
              .withDeadlineAfter(TIMEOUT_SECONDS, TimeUnit.SECONDS);
      try (Session unknown = new Session(client, "CartPol-v1")) {
        throw new IllegalStateException("there is no such environment");
      } catch (StatusRuntimeException error) {
        System.out.println("refused: " + reason(error));
      }
      try (Session env = new Session(client, "CartPole-v1")) {
        episode(env);
      }
    } finally {
      channel.shutdown().awaitTermination(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    }
  }
}
