// The API of key management plugins, version v2 (k8s.io/kms/apis/v2), and the message that is stored
// with each value (k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/v2).

import type { Input, Message } from '#machinery/grpc/schema.ts';

export const kmsSchema = {
  package: 'v2',
  enums: {},
  messages: {
    StatusRequest: {},
    StatusResponse: { version: [1, 'string'], healthz: [2, 'string'], keyId: [3, 'string'] },
    DecryptRequest: {
      ciphertext: [1, 'bytes'],
      uid: [2, 'string'],
      keyId: [3, 'string'],
      annotations: [4, 'map<string,bytes>'],
    },
    DecryptResponse: { plaintext: [1, 'bytes'] },
    EncryptRequest: { plaintext: [1, 'bytes'], uid: [2, 'string'] },
    EncryptResponse: {
      ciphertext: [1, 'bytes'],
      keyId: [2, 'string'],
      annotations: [3, 'map<string,bytes>'],
    },
  },
  services: {
    KeyManagementService: {
      Status: ['StatusRequest', 'StatusResponse'],
      Decrypt: ['DecryptRequest', 'DecryptResponse'],
      Encrypt: ['EncryptRequest', 'EncryptResponse'],
    },
  },
} as const;

export const envelopeSchema = {
  package: 'v2',
  enums: { EncryptedDEKSourceType: { AES_GCM_KEY: 0, HKDF_SHA256_XNONCE_AES_GCM_SEED: 1 } },
  messages: {
    EncryptedObject: {
      encryptedData: [1, 'bytes'],
      keyId: [2, 'string'],
      encryptedDekSource: [3, 'bytes'],
      annotations: [4, 'map<string,bytes>'],
      encryptedDekSourceType: [5, 'EncryptedDEKSourceType'],
    },
  },
  services: {},
} as const;

export type EncryptedObject = Message<typeof envelopeSchema, 'EncryptedObject'>;
export type EncryptedObjectInput = Input<typeof envelopeSchema, 'EncryptedObject'>;
