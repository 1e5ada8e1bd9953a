// Our API server, in the process of the comparison. Tests send it requests without a connection; the
// comparison asks it over HTTPS, as the other server.

import { generateKeyPairSync } from 'node:crypto';
import { encodeForStorage } from '#api/machinery/codec/storage-codec.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import { send } from '#apiserver/testing/requests.ts';
import { makeTestAuthority } from '#apiserver/testing/certificates.ts';
import { ADMIN, startTestServer } from '#apiserver/testing/server.ts';
import { type Clock, systemClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import type { Storage } from '#storage/interface.ts';
import { parsed, type Answer } from './compare.ts';
import { Remote } from './remote.ts';
import type { Shot } from './shots.ts';

type TestServer = Awaited<ReturnType<typeof startTestServer>>;

const USER = { ...ADMIN, uid: 'admin' };

export class Ours {
  readonly #server: TestServer;
  readonly #token: string;

  private constructor(server: TestServer, token: string) {
    this.#server = server;
    this.#token = token;
  }

  /** `storage`: default: empty, in memory. It is closed with the server. */
  static async start({
    clock = systemClock,
    storage,
  }: { readonly clock?: Clock; readonly storage?: Storage } = {}): Promise<Ours> {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const authority = await makeTestAuthority();
    const token = Buffer.from(systemRandom.bytes(16)).toString('hex');
    const server = await startTestServer({
      tls: await authority.server(),
      tokens: new Map([[token, USER]]),
      random: systemRandom,
      clock,
      storage,
      serviceCidr: '10.96.0.0/16',
      disableAdmissionPlugins: ['ServiceAccount'],
      flags: {},
      // As upstream's default.
      anonymous: 'all',
      serviceAccounts: {
        signingKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      },
    });
    return new Ours(server, token);
  }

  /** Returns the published kinds. */
  get kinds(): readonly Kind[] {
    return this.#server.server.catalog.snapshot().publishedKinds();
  }

  async send({ method, path, type, body, accept = 'application/json' }: Shot): Promise<Answer> {
    const headers = {
      accept,
      'user-agent': 'differential',
      ...(body !== '' && { 'content-type': type }),
    };
    const answer = await send(this.#server.server, { method, path, headers, body, user: USER });
    return { code: answer.code, body: parsed(answer.text), warnings: answer.warnings };
  }

  /** Opens a port, and returns a client of an administrator. The client is closed by the caller. */
  async listen(): Promise<Remote> {
    const { port } = await this.#server.server.listen();
    return new Remote(`https://127.0.0.1:${port}`, this.#token);
  }

  /** Writes an object to the storage, without the API. Deletes it if `json` is undefined. */
  async store(key: string, json: string | undefined): Promise<void> {
    const { storage } = this.#server;
    await storage.guaranteedUpdate(key, () =>
      Promise.resolve(
        json === undefined
          ? { action: 'delete' }
          : { action: 'put', value: storedForm(JSON.parse(json) as StoredObject) },
      ),
    );
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }
}

interface StoredObject {
  readonly kind: string;
  readonly apiVersion: string;
}

/** Returns the stored bytes: stored objects begin with their kind. */
function storedForm({ kind, apiVersion, ...rest }: StoredObject): Uint8Array {
  return encodeForStorage({ kind, apiVersion, ...rest });
}
