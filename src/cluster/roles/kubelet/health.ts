// The kubelet's /healthz on a port of its own, without TLS, as upstream's kubelet has it: kubeadm,
// monitoring systems and scripts of a machine ask there whether the kubelet runs.

import type { RequestListener } from 'node:http';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { HealthEndpoint, NOSNIFF, pingCheck, TEXT } from '#machinery/serving/health.ts';
import { HealthSlis } from '#machinery/serving/health-slis.ts';
import { type ProbeServer, serveProbes } from '#machinery/serving/probes.ts';

/** Upstream's defaults. */
export const HEALTHZ_PORT = 10_248;
export const HEALTHZ_ADDRESS = '127.0.0.1';
const RETRY_MS = 5000;

export interface KubeletHealthConfig {
  readonly address: string;
  readonly port: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Serves until the signal is aborted. A port that cannot be had is tried again every five seconds,
 * as upstream does.
 */
export async function serveKubeletHealth(
  { address, port, clock, logger }: KubeletHealthConfig,
  signal: AbortSignal,
): Promise<void> {
  let server: ProbeServer | undefined;
  while (server === undefined) {
    try {
      server = await serveProbes(address, port, answer(logger));
    } catch (error) {
      logger.warn('kubelet: /healthz is not served', { address, port, err: error });
      await clock.sleep(RETRY_MS, signal);
    }
  }
  if (!signal.aborted)
    await new Promise<void>((resolve) =>
      signal.addEventListener('abort', () => resolve(), { once: true }),
    );
  await server.close();
}

/** The one check passes whenever the process responds. */
function answer(logger: Logger): RequestListener {
  const slis = new HealthSlis();
  const endpoint = new HealthEndpoint({
    path: '/healthz',
    checks: () => [pingCheck],
    logger,
    slis,
  });
  return (request, response) => {
    request.resume();
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://kubelet');
    const responding = endpoint.handles(pathname)
      ? endpoint.respond(pathname, searchParams)
      : Promise.resolve(undefined);
    void responding.then((found) => {
      const { code, contentType, text, headers } = found ?? {
        code: 404,
        contentType: TEXT,
        text: '404 page not found\n',
        headers: NOSNIFF,
      };
      response.writeHead(code, { 'content-type': contentType, ...headers }).end(text);
    });
  };
}
