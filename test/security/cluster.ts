// A cluster with its port open, and raw HTTPS requests to it: with a token, with the
// administrator's certificate, or with neither.

import { Agent, request as httpsRequest } from 'node:https';
import { parse } from 'yaml';
import { namespaces } from '#api/groups/core/v1/index.ts';
import { type EmbeddedCluster, startCluster, type StartClusterOptions } from '#cluster/index.ts';
import * as apierrors from '#machinery/apierrors.ts';

export interface RequestOptions {
  readonly method?: string;
  readonly path: string;
  /** An object is sent as JSON. */
  readonly body?: string | Buffer | object;
  readonly headers?: Readonly<Record<string, string>>;
  /** A bearer token, instead of the administrator's certificate. */
  readonly token?: string;
  /** `null`: no credentials at all. */
  readonly credentials?: { readonly cert: string; readonly key: string } | null;
}

/** The members of answers that tests read, of objects, lists and `Status` alike. */
export interface AnswerBody {
  readonly kind: string;
  readonly reason?: string;
  readonly message?: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
  readonly data: Readonly<Record<string, string>>;
  readonly rules: readonly object[];
  readonly items: readonly AnswerBody[];
  readonly status: { readonly token: string; readonly authenticated?: boolean };
}

export interface Answer {
  readonly code: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
  /** The body as JSON. Throws if it is not JSON. */
  readonly json: AnswerBody;
  /** The status code with the message of a `Status`, for tables of expectations. */
  readonly summary: string;
}

export class SecuredCluster {
  readonly cluster: EmbeddedCluster;
  readonly url: URL;
  /** PEM. */
  readonly caCertificate: string;
  readonly adminCredentials: { readonly cert: string; readonly key: string };
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });

  constructor(cluster: EmbeddedCluster) {
    const config = parse(cluster.kubeconfig ?? '');
    const decode = (text: string): string => Buffer.from(text, 'base64').toString('utf8');
    this.cluster = cluster;
    this.url = new URL(config.clusters[0].cluster.server);
    this.caCertificate = decode(config.clusters[0].cluster['certificate-authority-data']);
    const { user } = config.users[0];
    this.adminCredentials = {
      cert: decode(user['client-certificate-data']),
      key: decode(user['client-key-data']),
    };
  }

  /** Sends one request over TLS. Rejects if the connection fails. */
  request({
    method = 'GET',
    path,
    body,
    headers = {},
    token,
    credentials = this.adminCredentials,
  }: RequestOptions): Promise<Answer> {
    const bytes =
      body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
        ? body
        : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const request = httpsRequest(
        {
          host: this.url.hostname,
          port: this.url.port,
          // The path is unchanged: `new URL` would remove `..` from it.
          path,
          method,
          ca: this.caCertificate,
          agent: credentials === null || token !== undefined ? false : this.#agent,
          headers: {
            ...(bytes !== undefined && {
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(bytes),
            }),
            ...(token !== undefined && { authorization: `Bearer ${token}` }),
            ...headers,
          },
          ...(token === undefined && credentials),
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            const code = response.statusCode ?? 0;
            resolve({
              code,
              headers: response.headers,
              text,
              get json() {
                return JSON.parse(text);
              },
              get summary() {
                return code < 400 ? String(code) : `${code} ${messageOf(text)}`;
              },
            });
          });
        },
      );
      request.on('error', reject);
      request.end(bytes);
    });
  }

  /** Creates the namespace unless it exists. */
  async namespace(name: string): Promise<void> {
    try {
      await this.cluster.client.resource(namespaces).create({ metadata: { name } });
    } catch (error) {
      if (!apierrors.isAlreadyExists(error)) throw error;
    }
  }

  /**
   * Creates an account in a namespace, and binds ClusterRoles to it there. Returns a token of the
   * account.
   */
  async account(
    namespace: string,
    name: string,
    clusterRoles: readonly string[] = [],
  ): Promise<string> {
    await this.namespace(namespace);
    await this.expect(201, {
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts`,
      body: { metadata: { name } },
    });
    for (const role of clusterRoles) {
      await this.expect(201, {
        method: 'POST',
        path: `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`,
        body: {
          metadata: { name: `${name}-${role}` },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
          subjects: [{ kind: 'ServiceAccount', name, namespace }],
        },
      });
    }
    const { json } = await this.expect(201, {
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      body: { spec: {} },
    });
    return json.status.token;
  }

  /** Sends a request. Throws unless the answer has this code. */
  async expect(code: number, options: RequestOptions): Promise<Answer> {
    const answer = await this.request(options);
    if (answer.code !== code)
      throw new Error(
        `${options.method ?? 'GET'} ${options.path}: ${answer.summary || answer.text}`,
      );
    return answer;
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    await this.cluster.stop();
  }
}

export async function startSecuredCluster(
  options: StartClusterOptions = {},
): Promise<SecuredCluster> {
  return new SecuredCluster(await startCluster({ port: 0, ...options }));
}

function messageOf(text: string): string {
  try {
    return JSON.parse(text).message ?? text;
  } catch {
    return text;
  }
}
