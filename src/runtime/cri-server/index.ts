// Serves a runtime of this process at a socket of the Container Runtime Interface, for crictl, critest
// and other kubelets.

import type { Runtime } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { RpcServer, type RpcHandlers } from '#machinery/grpc/server.ts';
import type { ServiceName } from '#machinery/grpc/schema.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { socketPath } from '#machinery/grpc/connection.ts';
import { toRpcError } from './errors.ts';
import { imageService } from './image-service.ts';
import { runtimeService } from './runtime-service.ts';
import { criSchema, type CriSchema } from './schema.ts';
import { StreamingServer } from './streaming-server.ts';

export interface CriServerConfig {
  readonly runtime: Runtime;
  /** unix:///path, or a path. */
  readonly endpoint: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface CriServer {
  /** Ends all calls. The runtime stays open. */
  close(): Promise<void>;
}

/** Serves the runtime. Rejects if the socket cannot be made. */
export async function serveCri(config: CriServerConfig): Promise<CriServer> {
  const { runtime, endpoint, clock, random, logger } = config;
  const streaming = new StreamingServer({ runtime: runtime.runtime, clock, random, logger });
  const server = new RpcServer(criSchema);
  server.addService('RuntimeService', withErrors(runtimeService(runtime, streaming), logger));
  server.addService('ImageService', withErrors(imageService(runtime), logger));
  await server.listen(socketPath(endpoint));
  return {
    async close() {
      server.close();
      await streaming.close();
    },
  };
}

/** Returns handlers whose errors have the codes of CRI. */
function withErrors<V extends ServiceName<CriSchema>>(
  handlers: RpcHandlers<CriSchema, V>,
  logger: Logger,
): RpcHandlers<CriSchema, V> {
  type AnyHandler = (...args: readonly unknown[]) => unknown;
  const wrapped = Object.entries(handlers as Readonly<Record<string, AnyHandler>>).map(
    ([name, handler]) => {
      const { services } = criSchema;
      const isStream = Object.values(services).some(
        (methods: Readonly<Record<string, readonly string[]>>) => methods[name]?.[2] === 'stream',
      );
      if (isStream) return [name, handler];
      const converting = async (...args: readonly unknown[]): Promise<unknown> => {
        try {
          return await handler(...args);
        } catch (error) {
          logger.debug('CRI call failed', { method: name, err: error });
          throw toRpcError(error);
        }
      };
      return [name, converting];
    },
  );
  return Object.fromEntries(wrapped) as RpcHandlers<CriSchema, V>;
}
