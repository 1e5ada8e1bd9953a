// The routes of the kubelet's API that upgrade the connection.

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  isStreamingUpgrade,
  servePortForward,
  serveRemoteCommand,
  type StreamOptions,
} from '#machinery/streams/remotecommand/index.ts';
import { podUid } from '../types.ts';
import type { KubeletServerConfig } from './config.ts';
import { podOf, runningContainer } from './find-pod.ts';
import { HttpError, parseUrl } from './http-request.ts';

/**
 * Serves a request for a stream: exec, attach or port-forward. Rejects with HttpError before the
 * connection is upgraded.
 */
export async function serveStream(
  config: Pick<KubeletServerConfig, 'pods' | 'runtimeStatus' | 'runtime' | 'clock' | 'logger'>,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const { path, query } = parseUrl(request);
  const [, first, ...rest] = path;
  if (!isStreamingUpgrade(request))
    throw new HttpError(400, 'unable to upgrade: unsupported protocol');
  const { runtime, clock, logger } = config;
  const streaming = { clock, logger };
  switch (first) {
    case 'exec': {
      const { record } = runningContainer(config, rest);
      const options = streamOptions(query);
      const command = query.getAll('command');
      if (command.length === 0) throw new HttpError(400, 'you must specify at least 1 command');
      await serveRemoteCommand(
        request,
        socket,
        head,
        options,
        async (streams, signal) =>
          await runtime.runtime.exec(record.id, { ...options, command }, streams, signal),
        streaming,
      );
      return;
    }
    case 'attach': {
      const { pod, record } = runningContainer(config, rest);
      const spec = [
        ...pod.spec.containers,
        ...(pod.spec.initContainers ?? []),
        ...(pod.spec.ephemeralContainers ?? []),
      ].find((container) => container.name === record.name);
      // Whether there is a terminal was decided when the container was created.
      const options = { ...streamOptions(query), tty: spec?.tty === true };
      await serveRemoteCommand(
        request,
        socket,
        head,
        options.tty ? { ...options, stderr: false } : options,
        async (streams, signal) =>
          await runtime.runtime.attach(record.id, options, streams, signal),
        streaming,
      );
      return;
    }
    case 'portForward': {
      const [namespace = '', name = '', uid] = rest;
      const pod = podOf(config, namespace, name, uid);
      const sandbox = config
        .runtimeStatus(podUid(pod))
        ?.sandboxes.find((candidate) => candidate.ready);
      if (sandbox === undefined) throw new HttpError(404, `pod not found ("${name}_${namespace}")`);
      await servePortForward(
        request,
        socket,
        head,
        async (port, stream, signal) =>
          await runtime.runtime.portForward(sandbox.id, port, stream, signal),
        streaming,
      );
      return;
    }
    default:
      throw new HttpError(404, '404 page not found');
  }
}

function streamOptions(query: URLSearchParams): StreamOptions {
  const flag = (name: string): boolean => query.get(name) === '1' || query.get(name) === 'true';
  const tty = flag('tty');
  return { stdin: flag('input'), stdout: flag('output'), stderr: flag('error') && !tty, tty };
}
