// An API server for tests: in-memory storage, no open port, and in-process clients.

import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import { type Clock, VirtualClock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import type { Storage } from '#storage/interface.ts';
import type { ApiServerConfig } from '../config.ts';
import type { UserInfo } from '../request.ts';
import { ApiServer } from '../server.ts';

export const ADMIN: UserInfo = {
  name: 'admin',
  groups: ['system:masters', 'system:authenticated'],
};

/** A logger that fails the test if the server logs an error. */
export class RecordingLogger implements Logger {
  readonly errors: string[] = [];

  error(message: string, values?: { err?: unknown }): void {
    this.errors.push(
      `${message}: ${values?.err instanceof Error ? values.err.stack : String(values?.err)}`,
    );
  }

  warn(): void {}
  info(): void {}
  debug(): void {}

  with(): Logger {
    return this;
  }
}

export interface TestServer<C extends Clock = Clock> {
  readonly server: ApiServer;
  readonly storage: Storage;
  readonly clock: C;
  readonly logger: RecordingLogger;
  /** A client with the user ADMIN. */
  readonly client: Client;
  clientOf(user: UserInfo): Client;
  stop(): Promise<void>;
}

export type TestServerConfig<C extends Clock = VirtualClock> = Partial<ApiServerConfig> & {
  readonly start?: boolean;
  /** Default: a virtual clock. */
  readonly clock?: C;
};

/** Starts a server, with the bootstrap objects unless `start` is false. */
export async function startTestServer<C extends Clock = VirtualClock>(
  config: TestServerConfig<C> = {},
): Promise<TestServer<C>> {
  const logger = new RecordingLogger();
  // The default of the type parameter.
  const clock = config.clock ?? (new VirtualClock() as Clock as C);
  const storage = config.storage ?? createMemoryStorage({ clock, logger });
  const server = new ApiServer({
    random: new SeededRandom('test'),
    logger,
    port: 0,
    detectMutations: true,
    // No controller creates default ServiceAccounts here, and none removes the taint of new nodes.
    disableAdmissionPlugins: ['ServiceAccount', 'TaintNodesByCondition'],
    ...config,
    clock,
    storage,
  });
  if (config.start !== false) await server.start();
  const clientOf = (user: UserInfo): Client =>
    createClient(createInProcessTransport({ handler: server.inProcess(user) }));
  return {
    server,
    storage,
    clock,
    logger,
    client: clientOf(ADMIN),
    clientOf,
    stop: async () => {
      await server.stop();
      await storage.close();
    },
  };
}
