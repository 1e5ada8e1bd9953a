package example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(CoxCluster.class)
class RolloutTest {
  @Test
  void aDeploymentBecomesAvailable(KubernetesClient client) {
    var labels = Map.of("app", "web");
    var web = new DeploymentBuilder()
        .withNewMetadata().withName("web").withNamespace("default").endMetadata()
        .withNewSpec().withReplicas(2)
        .withNewSelector().withMatchLabels(labels).endSelector()
        .withNewTemplate()
        .withNewMetadata().withLabels(labels).endMetadata()
        .withNewSpec().addNewContainer().withName("web").withImage("nginx").endContainer().endSpec()
        .endTemplate()
        .endSpec()
        .build();
    client.resource(web).create();
    var available = client.resource(web).waitUntilCondition(
        each -> each != null && each.getStatus() != null && Integer.valueOf(2).equals(each.getStatus().getAvailableReplicas()),
        60, TimeUnit.SECONDS);
    assertEquals(2, available.getStatus().getAvailableReplicas());
  }
}
