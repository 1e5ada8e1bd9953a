// Serves a metrics API for autoscalers: it reports the CPU usage that a transcript sets. The API
// server has no such API, so the autoscalers' controller runs here, on a client that uses this one.

import { pods } from '#api/groups/core/v1/index.ts';
import { createClient } from '#client/create-client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import type { Transport, TransportRequest } from '#client/transport.ts';
import { HorizontalPodAutoscalerController } from '#controllers/horizontal-pod-autoscaler/index.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { EmbeddedCluster } from '../embedded-cluster.ts';

const PODS = /^\/apis\/metrics\.k8s\.io\/v1beta1\/namespaces\/([^/]+)\/pods$/;

export class MetricsSource {
  readonly #cluster: EmbeddedCluster<VirtualClock>;
  /** The total usage of the pods that a label selector selects, in thousandths of a CPU. */
  readonly #loads = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(cluster: EmbeddedCluster<VirtualClock>) {
    this.#cluster = cluster;
    const { clock } = cluster;
    const inner = cluster.client.transport;
    const transport: Transport = {
      request: async <T>(request: TransportRequest): Promise<T> => {
        const [, namespace] = PODS.exec(request.path) ?? [];
        if (namespace === undefined) return inner.request<T>(request);
        return (await this.#podMetrics(
          namespace,
          String(request.query?.['labelSelector'] ?? ''),
        )) as T;
      },
      watch: (request) => inner.watch(request),
      text: (request) => inner.text(request),
      stream: (request) => inner.stream(request),
      close: () => undefined,
    };
    const client = createClient(transport);
    const [random, logger] = [new SeededRandom('metrics'), silentLogger];
    const informers = new SharedInformerFactory({ client, clock, random, logger });
    const controller = new HorizontalPodAutoscalerController({
      client,
      informers,
      clock,
      random,
      logger,
    });
    const { signal } = this.#stop;
    informers.start(signal);
    this.#running = controller.run(signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  /**
   * Sets the CPU usage of all pods of the selector together, as a quantity; each pod has an equal
   * part.
   */
  set(selector: string, cpu: string): void {
    this.#loads.set(selector, parseQuantity(cpu).milliValue());
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #podMetrics(namespace: string, labelSelector: string): Promise<unknown> {
    const list = await this.#cluster.client
      .resource(pods)
      .namespace(namespace)
      .list({ labelSelector });
    const running = list.items.filter(({ status }) => status.phase === 'Running');
    const load = this.#loads.get(labelSelector) ?? 0;
    const timestamp = new Date(this.#cluster.clock.now()).toISOString();
    const items = running.map(({ metadata: { name }, spec }) => ({
      metadata: { name, namespace },
      timestamp,
      window: '15s',
      containers: [
        { name: spec.containers[0]?.name, usage: { cpu: `${Math.round(load / running.length)}m` } },
      ],
    }));
    return { kind: 'PodMetricsList', apiVersion: 'metrics.k8s.io/v1beta1', metadata: {}, items };
  }
}
