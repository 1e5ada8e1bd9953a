// An API server and a scheduler with a virtual clock, and ways to make the scheduler's requests
// fail.

import {
  type Event,
  events,
  nodes,
  type Pod,
  pods,
  type PodSpec,
  serviceAccounts,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import type { Transport, TransportRequest, WatchEvent } from '#client/transport.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { WatchStream } from '#machinery/watch.ts';
import { Scheduler, type SchedulerConfig } from '../scheduler.ts';
import { RecordingLogger } from './handle.ts';
import { makeNode, type NodeOptions } from './objects.ts';

/**
 * Called for each request of the scheduler: throws instead of sending it, or calls `send` and
 * throws (or returns) after it.
 */
export type Fault = (request: TransportRequest, send: () => Promise<unknown>) => Promise<unknown>;

/**
 * Returns the stream for a watch of the scheduler: the original, or one that is slower or ends
 * earlier.
 */
export type WatchFault = (
  stream: WatchStream<WatchEvent<unknown>>,
) => WatchStream<WatchEvent<unknown>>;

export interface RunningScheduler {
  readonly logger: RecordingLogger;
  /**
   * The scheduler's requests except watches, such as 'POST
   * /api/v1/namespaces/default/pods/p/binding'.
   */
  readonly requests: readonly string[];
  /** Replaces the fault; undefined: no faults. */
  setFault(fault: Fault | undefined): void;
  metricsText(): string;
  /** Simulates a kill of the process: from now on no request is sent and no response arrives. */
  crash(): void;
  stop(): Promise<void>;
}

export async function startTestCluster() {
  const clock = new VirtualClock();
  const server = await startTestServer({ clock });
  const { client } = server;
  // Pods need a ServiceAccount, and no controller creates it here.
  await client
    .resource(serviceAccounts)
    .namespace('default')
    .create({ metadata: { name: 'default' } });
  const running: RunningScheduler[] = [];

  function startScheduler(
    config: Partial<SchedulerConfig> = {},
    fault?: Fault,
    watchFault?: WatchFault,
  ): RunningScheduler {
    const own = server.clientOf({
      name: 'system:kube-scheduler',
      groups: ['system:authenticated'],
    });
    const logger = new RecordingLogger();
    const requests: string[] = [];
    let current = fault;
    let dead = false;
    const gone = () => apierrors.serviceUnavailable('the process is gone');
    const transport: Transport = {
      request: async <T>(request: TransportRequest): Promise<T> => {
        if (dead) throw gone();
        requests.push(`${request.method} ${request.path}`);
        const send = (): Promise<T> => {
          if (dead) throw gone();
          return own.transport.request<T>(request);
        };
        const answer = await (current === undefined
          ? send()
          : (current(request, send) as Promise<T>));
        if (dead) throw gone();
        return answer;
      },
      watch: async <T>(request: TransportRequest) => {
        if (dead) throw gone();
        const stream = await own.transport.watch<T>(request);
        return watchFault === undefined
          ? stream
          : (watchFault(stream) as WatchStream<WatchEvent<T>>);
      },
      text: (request) => own.transport.text(request),
      stream: (request) => own.transport.stream(request),
      close: () => own.transport.close(),
    };
    const schedulerClient: Client = createClient(transport);
    const random = new SeededRandom(`scheduler ${running.length}`);
    const informers = new SharedInformerFactory({
      client: schedulerClient,
      clock,
      random,
      logger,
      detectMutations: true,
    });
    const scheduler = new Scheduler({
      client: schedulerClient,
      informers,
      clock,
      random,
      logger,
      ...config,
    });
    const stopping = new AbortController();
    const run = scheduler.run(stopping.signal);
    const handle: RunningScheduler = {
      logger,
      requests,
      setFault: (next) => {
        current = next;
      },
      metricsText: () => scheduler.metricsText(),
      crash: () => {
        dead = true;
        stopping.abort();
      },
      stop: async () => {
        stopping.abort();
        await run;
        await informers.stopped();
      },
    };
    running.push(handle);
    return handle;
  }

  const inDefault = client.resource(pods).namespace('default');
  return {
    clock,
    client,
    startScheduler,

    async addNode(name: string, options: NodeOptions = {}): Promise<void> {
      const { metadata, spec, status } = makeNode(name, options);
      const { labels, annotations } = metadata;
      const created = await client
        .resource(nodes)
        .create({ metadata: { name, labels, annotations }, spec });
      await client.resource(nodes).updateStatus({ ...created, status });
    },

    async addPod(
      name: string,
      requests?: Readonly<Record<string, string>>,
      spec: Partial<PodSpec> = {},
      labels?: Readonly<Record<string, string>>,
    ): Promise<Immutable<Pod>> {
      const containers = [
        { name: 'c', image: 'image:1', resources: requests === undefined ? {} : { requests } },
      ];
      return await inDefault.create({
        metadata: { name, ...(labels !== undefined && { labels }) },
        spec: { containers, ...spec },
      });
    },

    async nodeOf(name: string): Promise<string | undefined> {
      return (await inDefault.get(name)).spec.nodeName;
    },

    /** Advances the virtual clock until the pods have nodes. */
    async untilBound(...names: readonly string[]): Promise<void> {
      await clock.runUntil(async () => {
        const { items } = await inDefault.list();
        return names.every((name) =>
          items.some((pod) => pod.metadata.name === name && pod.spec.nodeName),
        );
      }, '10m');
    },

    async condition(name: string) {
      const { status } = await inDefault.get(name);
      return status.conditions?.find((condition) => condition.type === 'PodScheduled');
    },

    async eventsOf(name: string): Promise<readonly Immutable<Event>[]> {
      const { items } = await client.resource(events).namespace('default').list();
      return items.filter((event) => event.involvedObject.name === name);
    },

    async stop(): Promise<void> {
      for (const scheduler of running) await scheduler.stop();
      await server.stop();
    },
  };
}

export type TestCluster = Awaited<ReturnType<typeof startTestCluster>>;
