// The API of programs that sign tokens of ServiceAccounts: k8s.io/externaljwt/apis/v1.

import type { Message } from '#machinery/grpc/schema.ts';

export const signerSchema = {
  package: 'v1',
  enums: {},
  messages: {
    SignJWTRequest: { claims: [1, 'string'] },
    SignJWTResponse: { header: [1, 'string'], signature: [2, 'string'] },
    FetchKeysRequest: {},
    FetchKeysResponse: {
      keys: [1, 'Key[]'],
      dataTimestamp: [2, 'Timestamp'],
      refreshHintSeconds: [3, 'int64'],
    },
    Key: { keyId: [1, 'string'], key: [2, 'bytes'], excludeFromOidcDiscovery: [3, 'bool'] },
    /** google.protobuf.Timestamp */
    Timestamp: { seconds: [1, 'int64'], nanos: [2, 'int32'] },
    MetadataRequest: {},
    MetadataResponse: { maxTokenExpirationSeconds: [1, 'int64'] },
  },
  services: {
    ExternalJWTSigner: {
      Sign: ['SignJWTRequest', 'SignJWTResponse'],
      FetchKeys: ['FetchKeysRequest', 'FetchKeysResponse'],
      Metadata: ['MetadataRequest', 'MetadataResponse'],
    },
  },
} as const;

export type FetchedKeys = Message<typeof signerSchema, 'FetchKeysResponse'>;
