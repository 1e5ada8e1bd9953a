// A connection to the node part of a DRA driver.

import type { Clock } from '#machinery/clock.ts';
import { RpcConnection } from '#machinery/grpc/connection.ts';
import {
  type ClaimReference,
  draHealthSchema,
  type DraSchema,
  draSchemaV1,
  draSchemaV1beta1,
  type DraService,
  type PrepareResponse,
  type ReportedHealth,
  type UnprepareResponse,
} from './schema.ts';

/** The calls of a driver. Each rejects with an RpcError, or the signal's reason. */
export interface DraDriver {
  prepare(claims: readonly ClaimReference[], signal: AbortSignal): Promise<PrepareResponse>;
  unprepare(claims: readonly ClaimReference[], signal: AbortSignal): Promise<UnprepareResponse>;
  /** Yields reports of the health of devices, if the driver has that service. */
  watchHealth(signal: AbortSignal): AsyncIterable<readonly ReportedHealth[]>;
  connected(signal: AbortSignal): Promise<void>;
  disconnected(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Half of the time after which the kubelet tries again. */
const CALL_TIMEOUT_MS = 45_000;

/** Returns a connection to the driver at the socket. `service`: the version that it has. */
export function draDriverAt(socketPath: string, service: DraService, clock: Clock): DraDriver {
  // Both versions have the same messages, so the types of one fit both.
  const schema = (service === 'v1.DRAPlugin' ? draSchemaV1 : draSchemaV1beta1) as DraSchema;
  const connection = new RpcConnection(schema, socketPath, clock);
  const health = new RpcConnection(draHealthSchema, socketPath, clock);
  return {
    prepare: (claims, signal) =>
      connection.call(
        'DRAPlugin',
        'NodePrepareResources',
        { claims },
        { signal, timeoutMs: CALL_TIMEOUT_MS },
      ),
    unprepare: (claims, signal) =>
      connection.call(
        'DRAPlugin',
        'NodeUnprepareResources',
        { claims },
        { signal, timeoutMs: CALL_TIMEOUT_MS },
      ),
    async *watchHealth(signal) {
      const stream = health.stream('DRAResourceHealth', 'NodeWatchResources', {}, signal);
      for await (const { devices } of stream) yield devices;
    },
    connected: (signal) => connection.connected(signal),
    disconnected: (signal) => connection.disconnected(signal),
    close() {
      connection.close();
      health.close();
    },
  };
}
