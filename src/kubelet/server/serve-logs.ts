// The route /containerLogs of the kubelet's API.

import type { ServerResponse } from 'node:http';
import { type LogOptions, readLogs } from '../logs/read-logs.ts';
import type { ContainerRecord } from '../pod/pod-status.ts';
import { podUid } from '../types.ts';
import type { KubeletServerConfig } from './config.ts';
import { findLogContainer, LogTargetError } from './container-logs.ts';
import { podOf } from './find-pod.ts';
import { HttpError } from './http-request.ts';

/**
 * Responds with the log of a container. `rest`: namespace/pod/container. Rejects with HttpError
 * before the response begins.
 */
export async function serveLogs(
  config: Pick<KubeletServerConfig, 'pods' | 'runtimeStatus' | 'runtime' | 'clock'>,
  response: ServerResponse,
  [namespace = '', name = '', container = '']: readonly string[],
  options: LogOptions & { readonly previous: boolean },
): Promise<void> {
  const pod = podOf(config, namespace, name);
  let record: ContainerRecord;
  try {
    record = findLogContainer(pod, config.runtimeStatus(podUid(pod)), container, options.previous);
  } catch (error) {
    // The API server forwards the message of a 400 to the user.
    throw error instanceof LogTargetError ? new HttpError(400, error.message) : error;
  }
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('the client is gone')));
  const uid = podUid(pod);
  const source = {
    path: record.logPath,
    log: config.runtime.runtime.memoryLog?.(record.id),
    clock: config.clock,
    isRunning: () => Promise.resolve(isRunning(config, uid, record.id)),
  };
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Transfer-Encoding': 'chunked' });
  if (options.follow === true) response.flushHeaders();
  try {
    for await (const chunk of readLogs(source, options, gone.signal)) {
      if (gone.signal.aborted) return;
      if (!response.write(chunk)) await drained(response, gone.signal);
    }
  } catch (error) {
    // A container without output may have no file.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  response.end();
}

function isRunning(
  { runtimeStatus }: Pick<KubeletServerConfig, 'runtimeStatus'>,
  uid: string,
  containerId: string,
): boolean {
  const status = runtimeStatus(uid);
  return (
    status?.containers.some(
      (container) => container.id === containerId && container.state === 'running',
    ) === true
  );
}

function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.removeListener('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    response.once('drain', done);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}
