// Checks whether the controller manager and the scheduler are healthy, for the API server's ComponentStatuses.

import { errorMessage } from '#machinery/error-message.ts';
import { request } from 'node:https';
import type { ComponentHealth, ComponentCheck } from '#apiserver/kinds/core/component-status.ts';
import type { Clock } from '#machinery/clock.ts';

const TIMEOUT_MS = 5000;
const MAX_BODY_BYTES = 1024;

/**
 * Returns checks that ask the default ports of this machine, as kube-apiserver does. A component on
 * another machine or port is therefore reported as not healthy.
 */
export function localComponentHealth(clock: Clock): ComponentHealth {
  return { 'controller-manager': healthz(clock, 10257), scheduler: healthz(clock, 10259) };
}

/** Returns a check of `/healthz` on 127.0.0.1. The certificate is not verified: components sign their own. */
export function healthz(clock: Clock, port: number): ComponentCheck {
  return () =>
    bounded(clock, `Get "https://127.0.0.1:${port}/healthz"`, async (signal) => {
      const { status, body } = await get(port, signal);
      if (status !== 200) throw new Error(`HTTP status ${status}: ${body}`);
    });
}

/**
 * Runs a check and rejects if it has not settled after five seconds. `signal` then aborts. `what`
 * begins each message.
 */
export async function bounded(
  clock: Clock,
  what: string,
  check: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const late = new Promise<never>((_, reject) => {
    stop.signal.addEventListener('abort', () =>
      reject(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)),
    );
  });
  const timer = clock.setTimer(TIMEOUT_MS, () => stop.abort());
  try {
    await Promise.race([check(stop.signal), late]);
  } catch (error) {
    throw new Error(`${what}: ${errorMessage(error)}`, { cause: error });
  } finally {
    timer.cancel();
  }
}

function get(
  port: number,
  signal: AbortSignal,
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  return new Promise((resolve, reject) => {
    // Without an agent no connection is kept: one from before a restart of the component would fail.
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        path: '/healthz',
        rejectUnauthorized: false,
        agent: false,
        signal,
      },
      (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('error', reject);
        response.on('data', (text: string) => {
          body += text;
          if (body.length > MAX_BODY_BYTES) response.destroy(new Error('the answer is too long'));
        });
        response.on('end', () => resolve({ status: response.statusCode, body }));
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}
