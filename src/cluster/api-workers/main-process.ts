// The main process as a worker sees it: the other end of link.ts.

import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { ComponentHealth } from '#apiserver/kinds/core/component-status.ts';
import type { NodeConnector } from '#apiserver/node-connector.ts';
import { AddressNotAllowedError } from '#machinery/net/peer/index.ts';
import {
  AUDIT_PATH,
  encodeValue,
  ERROR_HEADER,
  HEALTH_PATH,
  NODE_PATH,
  type RequestOrigin,
  REQUESTS_PATH,
  SETTINGS_PATH,
  VALUE_HEADER,
} from './link.ts';
import type { WorkerSettings } from './settings.ts';

export class MainProcess {
  readonly #session: ClientHttp2Session;
  /** Connects to nodes through the main process. */
  readonly nodeConnector: NodeConnector;

  /** `onEnd`: called when the link ends, which the main process' end causes. */
  constructor(stream: Duplex, onEnd: () => void) {
    this.#session = connect('http://main', { createConnection: () => stream });
    this.#session.on('error', onEnd);
    this.#session.on('close', onEnd);
    this.nodeConnector = {
      connect: (target, signal) => this.#open(NODE_PATH, target, signal),
    };
  }

  async settings(): Promise<WorkerSettings> {
    const stream = await this.#open(SETTINGS_PATH, undefined);
    stream.end();
    return JSON.parse(await textOf(stream)) as WorkerSettings;
  }

  /** Returns a connection to the main process' API server, for requests of this origin. */
  openRequests(origin: RequestOrigin, signal?: AbortSignal): Promise<Duplex> {
    return this.#open(REQUESTS_PATH, origin, signal);
  }

  /** Opens a stream for audit events. See audit-stream.ts. */
  openAudit(): Promise<Duplex> {
    return this.#open(AUDIT_PATH, undefined);
  }

  /** Returns checks of components that the main process makes. */
  componentHealth(names: readonly string[]): ComponentHealth {
    const check = (name: string) => async (): Promise<void> => {
      const stream = await this.#open(`${HEALTH_PATH}${name}`, undefined);
      stream.end();
      stream.resume();
    };
    return Object.fromEntries(names.map((name) => [name, check(name)])) as ComponentHealth;
  }

  close(): void {
    this.#session.destroy();
  }

  /** Opens a stream. Rejects with the main process' error. */
  #open(path: string, value: unknown, signal?: AbortSignal): Promise<ClientHttp2Stream> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request(
        {
          ':path': path,
          ':method': 'POST',
          ...(value !== undefined && { [VALUE_HEADER]: encodeValue(value) }),
        },
        { endStream: false, ...(signal !== undefined && { signal }) },
      );
      stream.on('error', reject);
      stream.once('close', () => reject(new Error('the link to the main process has ended')));
      stream.once('response', (headers) => {
        if (headers[':status'] === 200) resolve(stream);
        else void errorOf(stream, String(headers[ERROR_HEADER])).then(reject, reject);
      });
    });
  }
}

async function errorOf(stream: ClientHttp2Stream, name: string): Promise<Error> {
  stream.end();
  const message = await textOf(stream);
  return name === 'AddressNotAllowedError' ? new AddressNotAllowedError() : new Error(message);
}

async function textOf(stream: ClientHttp2Stream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
