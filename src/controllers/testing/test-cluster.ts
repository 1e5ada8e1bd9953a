// An API server with memory storage and a virtual clock, for tests of controllers: everything is
// real except the network.

import { namespaces, serviceAccounts } from '#api/groups/core/v1/index.ts';
import { ApiServer } from '#apiserver/server.ts';
import { createClient } from '#client/create-client.ts';
import type { Client } from '#client/client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import type { Transport } from '#client/transport.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger, type RecordingLogger } from '#machinery/log.ts';
import { type Random, SeededRandom } from '#machinery/random.ts';
import { FaultInterceptor } from '#simulation/faults/index.ts';
import type { Storage } from '#storage/interface.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { ControllerClients } from './controller-clients.ts';
import { FaultyTransport } from './faulty-transport.ts';
import type { Controller, ControllerConfig } from '../controller.ts';

export interface TestCluster {
  readonly server: ApiServer;
  readonly storage: Storage;
  readonly client: Client;
  readonly clock: VirtualClock;
  readonly logger: RecordingLogger;
  readonly random: Random;
  /** The transport without faults. */
  readonly transport: Transport;
  /** The transport of the controllers' requests. The test's own client does not use it. */
  readonly faults: FaultyTransport;
  /**
   * The clients of controllers: a controller writes as its own account, so that its role must allow
   * all its writes; its informers read as the controller manager.
   */
  readonly controllers: ControllerClients;
  /** Where an exploration disturbs the requests of its subject. */
  readonly interceptor: FaultInterceptor;
  /** Starts a controller with its own informers. Returns the function that stops it. */
  run(make: (config: ControllerConfig) => Controller): Promise<() => Promise<void>>;
  /** Creates a namespace with its default ServiceAccount, so that pods can be created. */
  addNamespace(name: string): Promise<void>;
  stop(): Promise<void>;
}

export interface TestClusterConfig {
  /**
   * The time at which the clock starts, in milliseconds since the epoch. Default: the beginning of
   * 2026.
   */
  readonly startMs?: number;
  /** API versions that are served in addition. Default: stable versions only. */
  readonly runtimeConfig?: Readonly<Record<string, string>>;
  /** Wraps the storage, for example with encryption. Default: no wrapper. */
  readonly wrapStorage?: (storage: Storage) => Storage;
}

export async function startTestCluster(config: TestClusterConfig = {}): Promise<TestCluster> {
  const { startMs, runtimeConfig, wrapStorage } = config;
  const clock = new VirtualClock(startMs === undefined ? {} : { start: startMs });
  const random = new SeededRandom(1);
  const logger = recordingLogger();
  const memory = createMemoryStorage({ clock, logger });
  const storage = wrapStorage?.(memory) ?? memory;
  // A node in a test is ready as soon as it exists, unless the test sets its conditions.
  const interceptor = new FaultInterceptor();
  const server = new ApiServer({
    storage,
    intercept: interceptor.filter,
    clock,
    random,
    logger,
    disableAdmissionPlugins: ['TaintNodesByCondition'],
    ...(runtimeConfig !== undefined && { runtimeConfig }),
  });
  await server.start();
  const handler = server.inProcess({
    name: 'system:admin',
    groups: ['system:masters', 'system:authenticated'],
  });
  const transport = createInProcessTransport({ handler });
  const client = createClient(transport);
  const faults = new FaultyTransport(transport);
  const controllers = new ControllerClients(server);
  const addAccount = async (namespace: string): Promise<void> => {
    await client.resource(serviceAccounts).create({ metadata: { name: 'default', namespace } });
  };
  await addAccount('default');
  const running = new Set<() => Promise<void>>();
  return {
    server,
    storage,
    client,
    clock,
    logger,
    random,
    transport,
    faults,
    controllers,
    interceptor,
    async run(make) {
      const stop = new AbortController();
      const own = { name: '' };
      const client = createClient(faults.over(controllers.controller(() => own.name)));
      const informers = new SharedInformerFactory({
        client: createClient(faults.over(controllers.manager())),
        clock,
        random,
        logger,
        detectMutations: true,
      });
      const controller = make({ client, informers, clock, random, logger });
      own.name = controller.name;
      informers.start(stop.signal);
      const run = controller.run(stop.signal).catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      });
      const end = async (): Promise<void> => {
        running.delete(end);
        stop.abort();
        await Promise.all([run, informers.stopped()]);
      };
      running.add(end);
      await clock.settle();
      return end;
    },
    async addNamespace(name) {
      await client.resource(namespaces).create({ metadata: { name } });
      await addAccount(name);
    },
    async stop() {
      for (const end of running) await end();
      const stopping = server.stop();
      await clock.advance('1m');
      await stopping;
      await storage.close();
      controllers.expectGoodManners();
    },
  };
}
