// The part of etcd's v3 protocol that the engine uses: messages with their field numbers, and
// services. Fields that the engine does not read are left out, and decoders skip them. Among them
// are the ids of clusters and members, which do not fit a JavaScript number.

/**
 * A field: its number, its type, and the name of its oneof if it belongs to one. `[]` after a type:
 * repeated.
 */
export type FieldSpec = readonly [id: number, type: string, oneof?: string];
/** A method: its request, its response, and whether both are streams. */
export type MethodSpec = readonly [request: string, response: string, stream?: 'stream'];

export const PACKAGES: Readonly<
  Record<
    string,
    {
      readonly enums?: Readonly<Record<string, Readonly<Record<string, number>>>>;
      readonly messages: Readonly<Record<string, Readonly<Record<string, FieldSpec>>>>;
      readonly services?: Readonly<Record<string, Readonly<Record<string, MethodSpec>>>>;
    }
  >
> = {
  mvccpb: {
    messages: {
      KeyValue: {
        key: [1, 'bytes'],
        createRevision: [2, 'int64'],
        modRevision: [3, 'int64'],
        version: [4, 'int64'],
        value: [5, 'bytes'],
      },
      // `type`: 0 is put, 1 is delete.
      Event: { type: [1, 'int32'], kv: [2, 'KeyValue'], prevKv: [3, 'KeyValue'] },
    },
  },
  etcdserverpb: {
    messages: {
      ResponseHeader: { revision: [3, 'int64'] },
      RangeRequest: {
        key: [1, 'bytes'],
        rangeEnd: [2, 'bytes'],
        limit: [3, 'int64'],
        revision: [4, 'int64'],
        countOnly: [9, 'bool'],
      },
      RangeResponse: {
        header: [1, 'ResponseHeader'],
        kvs: [2, 'mvccpb.KeyValue[]'],
        count: [4, 'int64'],
      },
      PutRequest: { key: [1, 'bytes'], value: [2, 'bytes'], lease: [3, 'int64'] },
      PutResponse: { header: [1, 'ResponseHeader'] },
      DeleteRangeRequest: { key: [1, 'bytes'] },
      DeleteRangeResponse: { header: [1, 'ResponseHeader'], deleted: [2, 'int64'] },
      RequestOp: {
        range: [1, 'RangeRequest', 'request'],
        put: [2, 'PutRequest', 'request'],
        deleteRange: [3, 'DeleteRangeRequest', 'request'],
      },
      ResponseOp: {
        range: [1, 'RangeResponse', 'response'],
        put: [2, 'PutResponse', 'response'],
        deleteRange: [3, 'DeleteRangeResponse', 'response'],
      },
      // `result`: 0 is equal. `target`: 0 is the version, 1 the create revision, 2 the mod
      // revision.
      Compare: {
        result: [1, 'int32'],
        target: [2, 'int32'],
        key: [3, 'bytes'],
        version: [4, 'int64', 'union'],
        modRevision: [6, 'int64', 'union'],
      },
      TxnRequest: {
        compare: [1, 'Compare[]'],
        success: [2, 'RequestOp[]'],
        failure: [3, 'RequestOp[]'],
      },
      TxnResponse: {
        header: [1, 'ResponseHeader'],
        succeeded: [2, 'bool'],
        responses: [3, 'ResponseOp[]'],
      },
      CompactionRequest: { revision: [1, 'int64'], physical: [2, 'bool'] },
      CompactionResponse: { header: [1, 'ResponseHeader'] },
      WatchRequest: {
        create: [1, 'WatchCreateRequest', 'request'],
        cancel: [2, 'WatchCancelRequest', 'request'],
        progress: [3, 'WatchProgressRequest', 'request'],
      },
      WatchCreateRequest: {
        key: [1, 'bytes'],
        rangeEnd: [2, 'bytes'],
        startRevision: [3, 'int64'],
        progressNotify: [4, 'bool'],
        prevKv: [6, 'bool'],
        fragment: [8, 'bool'],
      },
      WatchCancelRequest: { watchId: [1, 'int64'] },
      WatchProgressRequest: {},
      WatchResponse: {
        header: [1, 'ResponseHeader'],
        created: [3, 'bool'],
        canceled: [4, 'bool'],
        compactRevision: [5, 'int64'],
        cancelReason: [6, 'string'],
        fragment: [7, 'bool'],
        events: [11, 'mvccpb.Event[]'],
      },
      LeaseGrantRequest: { ttl: [1, 'int64'], id: [2, 'int64'] },
      LeaseGrantResponse: { id: [2, 'int64'], ttl: [3, 'int64'], error: [4, 'string'] },
      StatusRequest: {},
      StatusResponse: {
        header: [1, 'ResponseHeader'],
        version: [2, 'string'],
        dbSize: [3, 'int64'],
        errors: [8, 'string[]'],
      },
    },
    services: {
      KV: {
        Range: ['RangeRequest', 'RangeResponse'],
        Txn: ['TxnRequest', 'TxnResponse'],
        Compact: ['CompactionRequest', 'CompactionResponse'],
      },
      Watch: { Watch: ['WatchRequest', 'WatchResponse', 'stream'] },
      Lease: { LeaseGrant: ['LeaseGrantRequest', 'LeaseGrantResponse'] },
      Maintenance: { Status: ['StatusRequest', 'StatusResponse'] },
    },
  },
};

/** A decoded message: every field is present, but absent messages are null. */
export interface EtcdKeyValue {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly version: number;
}

export interface ResponseHeader {
  readonly revision: number;
}

export interface RangeRequest {
  readonly key: Uint8Array;
  readonly rangeEnd?: Uint8Array;
  readonly limit?: number;
  readonly revision?: number;
  readonly countOnly?: boolean;
}

export interface RangeResponse {
  readonly header: ResponseHeader;
  readonly kvs: readonly EtcdKeyValue[];
  readonly count: number;
}

export interface Compare {
  /** 0 means equal. */
  readonly result: 0;
  /** 0 is the version, 2 the mod revision. */
  readonly target: 0 | 2;
  readonly key: Uint8Array;
  readonly version?: number;
  readonly modRevision?: number;
}

export type RequestOp =
  | { readonly range: RangeRequest }
  | {
      readonly put: {
        readonly key: Uint8Array;
        readonly value: Uint8Array;
        readonly lease?: number;
      };
    }
  | { readonly deleteRange: { readonly key: Uint8Array } };

export interface TxnRequest {
  readonly compare: readonly Compare[];
  readonly success: readonly RequestOp[];
  readonly failure: readonly RequestOp[];
}

export interface TxnResponse {
  readonly header: ResponseHeader;
  readonly succeeded: boolean;
  readonly responses: readonly { readonly range?: RangeResponse | null }[];
}

export interface WatchResponse {
  readonly header: ResponseHeader | null;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compactRevision: number;
  readonly cancelReason: string;
  readonly fragment: boolean;
  readonly events: readonly {
    readonly type: number;
    readonly kv: EtcdKeyValue;
    readonly prevKv: EtcdKeyValue | null;
  }[];
}

/** Unary methods by name, with their requests and responses. */
export interface Methods {
  readonly 'KV.Range': readonly [RangeRequest, RangeResponse];
  readonly 'KV.Txn': readonly [TxnRequest, TxnResponse];
  readonly 'KV.Compact': readonly [
    { readonly revision: number; readonly physical?: boolean },
    { readonly header: ResponseHeader },
  ];
  readonly 'Lease.LeaseGrant': readonly [
    { readonly ttl: number; readonly id: number },
    { readonly id: number; readonly ttl: number; readonly error: string },
  ];
  readonly 'Maintenance.Status': readonly [
    Record<string, never>,
    {
      readonly header: ResponseHeader;
      readonly version: string;
      readonly dbSize: number;
      readonly errors: readonly string[];
    },
  ];
}
