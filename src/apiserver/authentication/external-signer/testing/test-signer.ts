// A program for tests that signs tokens with a key in memory.

import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import type { Input } from '#machinery/grpc/schema.ts';
import { RpcServer } from '#machinery/grpc/server.ts';
import { signerSchema } from '../schema.ts';

type FetchedKey = Input<typeof signerSchema, 'Key'>;

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export const newKey = (): KeyObject =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

/** Returns the public part of a key as a signer returns it. */
export const fetchedKey = (keyId: string, key: KeyObject, more: object = {}): FetchedKey => ({
  keyId,
  key: createPublicKey(key).export({ type: 'spki', format: 'der' }),
  ...more,
});

export class TestSigner {
  key = newKey();
  header: object = { alg: 'ES256', kid: 'one', typ: 'JWT' };
  keys: readonly FetchedKey[] = [fetchedKey('one', this.key)];
  refreshHintSeconds = 30;
  maxSeconds = 7200;
  /** Whether it rejects to sign. */
  fails = false;
  readonly #server = new RpcServer(signerSchema);

  async listen(path: string): Promise<void> {
    this.#server.addService('ExternalJWTSigner', {
      Sign: ({ claims }) => {
        if (this.fails) throw new RpcError('UNAVAILABLE', 'the vault is closed');
        const header = encoded(this.header);
        const signature = sign('sha256', Buffer.from(`${header}.${claims}`), {
          key: this.key,
          dsaEncoding: 'ieee-p1363',
        });
        return { header, signature: signature.toString('base64url') };
      },
      FetchKeys: () => ({
        keys: this.keys,
        dataTimestamp: { seconds: 1_700_000_000, nanos: 500_000_000 },
        refreshHintSeconds: this.refreshHintSeconds,
      }),
      Metadata: () => ({ maxTokenExpirationSeconds: this.maxSeconds }),
    });
    await this.#server.listen(path);
  }

  close(): void {
    this.#server.close();
  }
}
