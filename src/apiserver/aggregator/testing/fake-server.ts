// An aggregated API server for tests. It serves one group version, records requests, and misbehaves
// on some paths.
//
//   /apis, /apis/GROUP/VERSION, /openapi/v2, /openapi/v3   documents, which tests may replace
//   /apis/GROUP/VERSION/echo…    the request as JSON: method, URL, headers, body, peer certificate
//   /apis/GROUP/VERSION/things   a list; with ?watch=true events until the client disconnects
//   /apis/GROUP/VERSION/<mode>   see `MODES`
//
// An upgrade to `echo` echoes lines; other upgrades are rejected with 403.

import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

export interface FakeServerConfig {
  readonly cert: string;
  readonly key: string;
  /** The authority of front proxies, in PEM. Absent: client certificates are not requested. */
  readonly clientCa?: string;
  readonly group?: string;
  readonly version?: string;
  /** The address. Default: '127.0.0.1'. */
  readonly host?: string;
  /** The port. Default: any free port. */
  readonly port?: number;
}

export interface ArrivedRequest {
  readonly method: string;
  readonly url: string;
  /** Headers with lower-case names, in the order of arrival. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  /** The common name of the peer's certificate; '' if it has presented none. */
  readonly peer: string;
}

type Document = (request: IncomingMessage, response: ServerResponse) => void;

const THING = {
  apiVersion: '',
  kind: 'Thing',
  metadata: { name: 'one', namespace: 'default', uid: 'u-1', resourceVersion: '7' },
};

export class FakeServer {
  readonly group: string;
  readonly version: string;
  readonly arrived: ArrivedRequest[] = [];
  /** Documents by path. Tests may replace them. A path without a document gets 404. */
  readonly documents = new Map<string, Document>();
  readonly #config: FakeServerConfig;
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  #port = 0;

  constructor(config: FakeServerConfig) {
    this.#config = config;
    this.group = config.group ?? 'fake.example.com';
    this.version = config.version ?? 'v1';
    this.#server = createServer(
      {
        cert: config.cert,
        key: config.key,
        ca: config.clientCa,
        requestCert: true,
        rejectUnauthorized: false,
      },
      (request, response) => void this.#serve(request, response),
    );
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgrade(request, socket, head),
    );
    this.#addDocuments();
  }

  get port(): number {
    return this.#port;
  }

  async start(): Promise<void> {
    const { port = 0, host = '127.0.0.1' } = this.#config;
    await new Promise<void>((resolve) => this.#server.listen(port, host, resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Returns the requests whose URL contains this text. */
  arrivedAt(text: string): readonly ArrivedRequest[] {
    return this.arrived.filter(({ url }) => url.includes(text));
  }

  get root(): string {
    return `/apis/${this.group}/${this.version}`;
  }

  #addDocuments(): void {
    const { group, version } = this;
    const resource = {
      name: 'things',
      singularName: 'thing',
      namespaced: true,
      kind: 'Thing',
      verbs: ['get', 'list', 'watch'],
    };
    const json = (value: unknown, type = 'application/json'): Document => {
      return (_request, response) =>
        response.writeHead(200, { 'content-type': type }).end(JSON.stringify(value));
    };
    this.documents.set(
      this.root,
      json({
        kind: 'APIResourceList',
        apiVersion: 'v1',
        groupVersion: `${group}/${version}`,
        resources: [resource],
      }),
    );
    const versions = [
      {
        version,
        resources: [
          {
            resource: 'things',
            responseKind: { group, version, kind: 'Thing' },
            scope: 'Namespaced',
            singularResource: 'thing',
            verbs: ['get', 'list', 'watch'],
          },
        ],
        freshness: 'Current',
      },
    ];
    this.documents.set(
      '/apis',
      json(
        {
          kind: 'APIGroupDiscoveryList',
          apiVersion: 'apidiscovery.k8s.io/v2',
          metadata: {},
          items: [{ metadata: { name: group }, versions }],
        },
        'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
      ),
    );
    const key = this.root.slice(1);
    this.documents.set(
      '/openapi/v3',
      json({ paths: { [key]: { serverRelativeURL: `/openapi/v3/${key}?hash=1` } } }),
    );
    this.documents.set(
      `/openapi/v3/${key}`,
      json({ openapi: '3.0.0', info: { title: 'Fake', version: 'v1' }, paths: {} }),
    );
    this.documents.set(
      '/openapi/v2',
      json({
        swagger: '2.0',
        info: { title: 'Fake', version: 'v1' },
        paths: {
          [`${this.root}/namespaces/{namespace}/things`]: {
            get: {
              responses: {
                200: {
                  description: 'OK',
                  schema: { $ref: '#/definitions/com.example.fake.v1.Thing' },
                },
              },
            },
          },
        },
        definitions: {
          'com.example.fake.v1.Thing': {
            type: 'object',
            properties: { apiVersion: { type: 'string' } },
            'x-kubernetes-group-version-kind': [{ group, version, kind: 'Thing' }],
          },
        },
      }),
    );
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'https://fake');
    const mode = pathname.startsWith(`${this.root}/`) ? pathname.slice(this.root.length + 1) : '';
    if (mode === 'early') {
      response.writeHead(403, { 'content-type': 'text/plain' }).end('too early');
      return;
    }
    let body = '';
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) body += chunk.toString('utf8');
    } catch {
      // The sender has disconnected. The part of the body that arrived is recorded.
      body += ' (aborted)';
    }
    const arrived = this.#arrivedRequest(request, body);
    this.arrived.push(arrived);
    const document = this.documents.get(pathname);
    if (document !== undefined) document(request, response);
    else if (mode.startsWith('echo'))
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(arrived));
    else if (mode === 'things' || mode.endsWith('/things'))
      this.#things(searchParams.get('watch') === 'true', response);
    else if (MODES[mode] !== undefined) MODES[mode](response, searchParams);
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n');
  }

  #things(watch: boolean, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    const thing = { ...THING, apiVersion: `${this.group}/${this.version}` };
    if (watch) response.write(`${JSON.stringify({ type: 'ADDED', object: thing })}\n`);
    else
      response.end(
        JSON.stringify({
          kind: 'ThingList',
          apiVersion: thing.apiVersion,
          metadata: { resourceVersion: '7' },
          items: [thing],
        }),
      );
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => undefined);
    this.arrived.push(this.#arrivedRequest(request, ''));
    const { pathname } = new URL(request.url ?? '/', 'https://fake');
    if (pathname === `${this.root}/no-upgrade`) {
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi');
    } else if (pathname.startsWith(`${this.root}/echo`)) {
      const protocol = request.headers['upgrade'] ?? '';
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`,
      );
      if (head.length > 0) socket.write(head);
      socket.pipe(socket);
    } else
      socket.end(
        'HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\nrefused',
      );
  }

  #arrivedRequest(request: IncomingMessage, body: string): ArrivedRequest {
    const headers: [string, string][] = [];
    for (let at = 0; at + 1 < request.rawHeaders.length; at += 2) {
      headers.push([request.rawHeaders[at]!.toLowerCase(), request.rawHeaders[at + 1]!]);
    }
    const subject = (request.socket as TLSSocket).getPeerCertificate().subject as
      | { CN?: string }
      | undefined;
    return {
      method: request.method ?? '',
      url: request.url ?? '',
      headers,
      body,
      peer: subject?.CN ?? '',
    };
  }
}

/** The misbehaviours, by the rest of the path. */
const MODES: Readonly<Record<string, (response: ServerResponse, query: URLSearchParams) => void>> =
  {
    status: (response, query) => {
      response
        .writeHead(Number(query.get('code')), { 'content-type': 'text/plain' })
        .end(query.get('code'));
    },
    redirect: (response, query) =>
      response.writeHead(302, { location: query.get('to') ?? '/elsewhere' }).end('moved'),
    'redirect-nowhere': (response) => response.writeHead(302).end('moved'),
    cors: (response) => {
      response
        .writeHead(200, {
          'access-control-allow-origin': '*',
          'access-control-max-age': '5',
          'x-own': 'kept',
        })
        .end('{}');
    },
    'no-type': (response) => response.writeHead(200).end('plain words'),
    page: (response) => {
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<a href="/other">other</a><a href="near">near</a>');
    },
    close: (response) => response.socket?.destroy(),
    'close-midway': (response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' });
      response.write('the beginning', () => response.socket?.destroy());
    },
    garbage: (response) => response.socket?.end('this is no HTTP\r\n\r\n'),
    'many-headers': (response) => {
      response.writeHead(200, { 'x-large': 'x'.repeat(100_000) }).end('{}');
    },
    huge: (response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      const chunk = Buffer.alloc(64 * 1024, 'x');
      let chunksLeft = 512;
      const more = (): void => {
        while (chunksLeft-- > 0)
          if (!response.write(chunk)) return void response.once('drain', more);
        response.end();
      };
      more();
    },
    never: () => undefined,
  };
