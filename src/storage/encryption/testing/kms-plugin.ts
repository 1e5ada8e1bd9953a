// A key management plugin for tests: version 2, with keys in memory. It encrypts with the last key.

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import { RpcServer } from '#machinery/grpc/server.ts';
import { kmsSchema } from '../kms/schema.ts';

const ANNOTATION = 'nonce.plugin.example.com';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export class TestKmsPlugin {
  /** The name of the key that encrypts. */
  keyId = 'key-1';
  /** The names of keys that are lost: nothing is decrypted with them. */
  readonly lost = new Set<string>();
  healthz = 'ok';
  version = 'v2';
  /** The number of calls by method. */
  readonly calls = { Status: 0, Encrypt: 0, Decrypt: 0 };
  #server: RpcServer<typeof kmsSchema> | undefined;

  async listen(path: string): Promise<void> {
    const server = new RpcServer(kmsSchema);
    server.addService('KeyManagementService', {
      Status: () => {
        this.calls.Status++;
        return { version: this.version, healthz: this.healthz, keyId: this.keyId };
      },
      Encrypt: ({ plaintext }) => {
        this.calls.Encrypt++;
        const annotations = { [ANNOTATION]: randomBytes(NONCE_BYTES) };
        const ciphertext = this.sealed(this.keyId, annotations, plaintext);
        return { ciphertext, keyId: this.keyId, annotations };
      },
      Decrypt: ({ ciphertext, keyId, annotations }) => {
        this.calls.Decrypt++;
        if (this.lost.has(keyId)) throw new RpcError('NOT_FOUND', `${keyId} is lost`);
        const nonce = annotations[ANNOTATION];
        if (nonce === undefined) throw new RpcError('INVALID_ARGUMENT', 'the nonce is missing');
        const end = ciphertext.length - TAG_BYTES;
        const decipher = createDecipheriv('aes-256-gcm', secretOf(keyId), nonce, {
          authTagLength: TAG_BYTES,
        }).setAuthTag(ciphertext.subarray(end));
        return {
          plaintext: Buffer.concat([
            decipher.update(ciphertext.subarray(0, end)),
            decipher.final(),
          ]),
        };
      },
    });
    await server.listen(path);
    this.#server = server;
  }

  /** Returns what Encrypt returns for a plaintext, a key and a nonce. */
  sealed(
    keyId: string,
    annotations: Readonly<Record<string, Uint8Array>>,
    plaintext: Uint8Array,
  ): Buffer {
    const cipher = createCipheriv('aes-256-gcm', secretOf(keyId), annotations[ANNOTATION]!);
    return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  }

  close(): void {
    this.#server?.close();
    this.#server = undefined;
  }
}

/** The same key of the same name in each process. */
const secretOf = (keyId: string): Buffer => createHash('sha256').update(keyId).digest();
