// Health check node ports: a load balancer checks each node for endpoints of a service with
// externalTrafficPolicy Local.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { RulesUpdate } from '../model.ts';
import { type ProbeServer, serveProbes } from '#machinery/serving/probes.ts';

export interface ServiceHealthConfig {
  /** Returns the addresses to listen at; undefined: all. */
  readonly addresses: () => readonly string[] | undefined;
  readonly isHealthy: () => boolean;
  readonly logger: Logger;
  /** Called when a port cannot be opened. */
  readonly onFailure?: (service: string, port: number, message: string) => void;
}

interface Check {
  readonly service: string;
  readonly port: number;
  servers: Promise<readonly ProbeServer[]>;
  localReady: number;
}

export class ServiceHealth {
  readonly #config: ServiceHealthConfig;
  readonly #checks = new Map<string, Check>();

  constructor(config: ServiceHealthConfig) {
    this.#config = config;
  }

  /** Opens and closes ports. Resolves when that is done; never rejects: a failure is logged. */
  async update({ complete, changes }: RulesUpdate): Promise<void> {
    const work: Promise<unknown>[] = [];
    for (const key of complete ? [...this.#checks.keys()] : [])
      if (!changes.has(key)) work.push(this.#close(key));
    for (const [key, rules] of changes) {
      const present = this.#checks.get(key);
      const port = rules?.healthCheckNodePort ?? 0;
      let closing: Promise<void> | undefined;
      if (present !== undefined && present.port !== port) work.push((closing = this.#close(key)));
      if (port === 0) continue;
      const check = this.#checks.get(key) ?? this.#open(key, port, closing);
      check.localReady = rules?.localReady ?? 0;
      work.push(check.servers);
    }
    await Promise.all(work);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#checks.keys()].map((key) => this.#close(key)));
  }

  #open(service: string, port: number, before: Promise<void> | undefined): Check {
    const { addresses, logger, onFailure } = this.#config;
    const check: Check = { service, port, localReady: 0, servers: Promise.resolve([]) };
    const open = async (): Promise<readonly ProbeServer[]> => {
      await before;
      const results = await Promise.allSettled(
        (addresses() ?? [undefined]).map((host) =>
          serveProbes(host, port, (request, response) => this.#answer(check, request, response)),
        ),
      );
      const servers = results.flatMap((result) =>
        result.status === 'fulfilled' ? [result.value] : [],
      );
      const failure = results.find((result) => result.status === 'rejected');
      if (failure === undefined) return servers;
      const message = errorMessage(failure.reason);
      logger.error('proxy: health check node port cannot be opened', {
        service,
        port,
        err: failure.reason,
      });
      onFailure?.(service, port, message);
      await Promise.all(servers.map((server) => server.close()));
      return [];
    };
    check.servers = open();
    this.#checks.set(service, check);
    return check;
  }

  async #close(key: string): Promise<void> {
    const check = this.#checks.get(key);
    this.#checks.delete(key);
    await Promise.all(((await check?.servers) ?? []).map((server) => server.close()));
  }

  #answer(
    { service, localReady }: Check,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    request.resume();
    const healthy = this.#config.isHealthy();
    const [namespace = '', name = ''] = service.split('/');
    response.writeHead(localReady > 0 && healthy ? 200 : 503, {
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      'x-load-balancing-endpoint-weight': String(localReady),
    });
    // The layout is upstream's: tab-indented, in this order.
    const report = {
      service: { namespace, name },
      localEndpoints: localReady,
      serviceProxyHealthy: healthy,
    };
    response.end(JSON.stringify(report, undefined, '\t'));
  }
}
