// The calls of a plugin, with their deadlines and metrics.

import { type Clock, systemClock } from '#machinery/clock.ts';
import { RpcConnection } from '#machinery/grpc/connection.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import type { Input, Message } from '#machinery/grpc/schema.ts';
import { outsideWork } from '#machinery/pending-work.ts';
import type { KmsConfiguration } from './configuration.ts';
import type { KmsMetrics } from './metrics.ts';
import { kmsSchema } from './schema.ts';

type Methods = (typeof kmsSchema)['services']['KeyManagementService'];
type Method = keyof Methods;

export class KmsConnection {
  readonly #configuration: KmsConfiguration;
  readonly #clock: Clock;
  readonly #metrics: KmsMetrics;
  readonly #connection: RpcConnection<typeof kmsSchema>;

  constructor(configuration: KmsConfiguration, clock: Clock, metrics: KmsMetrics) {
    this.#configuration = configuration;
    this.#clock = clock;
    this.#metrics = metrics;
    // The plugin is outside of a simulation, and so are the deadlines of its calls.
    this.#connection = new RpcConnection(kmsSchema, configuration.endpoint, systemClock);
  }

  /** Rejects with an RpcError. A plugin that is being started is waited for, up to the timeout. */
  async call<M extends Method>(
    method: M,
    request: Input<typeof kmsSchema, Methods[M][0]>,
  ): Promise<Message<typeof kmsSchema, Methods[M][1]>> {
    const began = this.#clock.monotonic();
    const { name, timeoutMs } = this.#configuration;
    const record = (code: string): void =>
      this.#metrics.called(name, method, code, this.#clock.monotonic() - began);
    try {
      const response = await outsideWork(
        this.#connection.call('KeyManagementService', method, request, {
          timeoutMs,
          waitForReady: true,
        }),
      );
      record('OK');
      return response;
    } catch (error) {
      record(error instanceof RpcError ? error.goName : 'unknown-non-grpc');
      throw error;
    }
  }

  close(): void {
    this.#connection.close();
  }
}
