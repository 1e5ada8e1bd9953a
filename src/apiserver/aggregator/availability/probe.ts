// Probes the backend of an APIService by a request for its discovery document, which every API
// server has to serve.

import type { Clock } from '#machinery/clock.ts';
import { LEGACY_NAME, type RemoteApiService } from '../api-services.ts';
import { BackendError, type Backends, NoEndpointError } from '../proxy/backend.ts';
import { userHeaders } from '../proxy/headers.ts';

/**
 * The number of concurrent requests after a first one that failed, because some endpoints may be
 * stale. One success is enough.
 */
const FURTHER_ATTEMPTS = 4;
const TIMEOUT_MS = 5_000;

export interface ProbeConfig {
  readonly clock: Clock;
  readonly backends: Backends;
}

/**
 * Resolves with the reason why every attempt failed; undefined if one succeeded. Throws
 * TransportError.
 */
export async function probe(
  config: ProbeConfig,
  service: RemoteApiService,
  signal: AbortSignal,
): Promise<string | undefined> {
  config.backends.tlsOf(service);
  if ((await attempt(config, service, signal)) === undefined) return undefined;
  const finished = new AbortController();
  const either = AbortSignal.any([signal, finished.signal]);
  let last = '';
  try {
    await Promise.any(
      Array.from({ length: FURTHER_ATTEMPTS }, async () => {
        const failure = await attempt(config, service, either);
        if (failure === undefined) return;
        last = failure;
        throw new Error(failure);
      }),
    );
    return undefined;
  } catch (error) {
    if (error instanceof AggregateError && last !== '') return last;
    throw error;
  } finally {
    finished.abort(new Error('another attempt has succeeded'));
  }
}

async function attempt(
  { clock, backends }: ProbeConfig,
  service: RemoteApiService,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { group = '', version = '' } = service.spec;
  const path =
    service.metadata.name === LEGACY_NAME ? `/api/${version}` : `/apis/${group}/${version}`;
  const timeout = new AbortController();
  const timer = clock.setTimer(TIMEOUT_MS, () => timeout.abort(new Error('timeout')));
  let url = '';
  try {
    const backend = await backends.choose(service);
    url = `https://${backend.host}${path}`;
    const user = { name: 'system:kube-aggregator', groups: ['system:masters'] };
    const headers = {
      host: backend.host,
      'user-agent': 'Go-http-client/1.1',
      ...userHeaders(user),
    };
    const backendResponse = await backend.send({
      method: 'GET',
      path,
      headers,
      signal: AbortSignal.any([signal, timeout.signal]),
    });
    backendResponse.message.destroy();
    const code = backendResponse.message.statusCode ?? 0;
    if (code >= 200 && code < 300) return undefined;
    return `failing or missing response from ${url}: bad status from ${url}: ${code}`;
  } catch (error) {
    if (error instanceof NoEndpointError) return error.message;
    const prefix = `failing or missing response from ${url}: Get ${JSON.stringify(url)}: `;
    if (timeout.signal.aborted)
      return `${prefix}context deadline exceeded (Client.Timeout exceeded while awaiting headers)`;
    if (error instanceof BackendError) return prefix + error.message;
    throw error;
  } finally {
    timer.cancel();
  }
}
