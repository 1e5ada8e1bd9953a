package example;

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * One cluster for all test classes with {@code @ExtendWith(CoxCluster.class)}: simulated nodes, everything in memory, no root. Test methods
 * take its client as a parameter. The environment variable COX names the command; default: {@code npx cox}.
 */
public final class CoxCluster implements ParameterResolver {
  private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(CoxCluster.class);

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == KubernetesClient.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    // The store of the root closes the cluster after the last test.
    var store = context.getRoot().getStore(NAMESPACE);
    return store.getOrComputeIfAbsent("cluster", key -> start(), Running.class).client;
  }

  private static Running start() {
    try {
      Path data = Files.createTempDirectory("cox");
      String cox = System.getenv().getOrDefault("COX", "npx cox");
      var command = new ArrayList<>(List.of(cox.split(" ")));
      command.addAll(List.of("up", "--runtime", "simulated", "--store", "memory", "--secure-port", "0"));
      command.addAll(List.of("--no-install", "--quiet", "--data-dir", data.toString()));
      Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      var output = new BufferedReader(new InputStreamReader(process.getInputStream()));
      for (String line = output.readLine(); ; line = output.readLine()) {
        if (line == null) throw new IllegalStateException("cox up has ended");
        if (line.startsWith("cluster ready")) break;
      }
      Config config = Config.fromKubeconfig(Files.readString(data.resolve("kubeconfig")));
      return new Running(process, new KubernetesClientBuilder().withConfig(config).build());
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private record Running(Process process, KubernetesClient client) implements ExtensionContext.Store.CloseableResource {
    @Override
    public void close() throws InterruptedException {
      client.close();
      process.destroy();
      process.waitFor(30, TimeUnit.SECONDS);
    }
  }
}
