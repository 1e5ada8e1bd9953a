// The kinds of work that the load generator does: creating, getting and listing ConfigMaps of about
// 1 KB in one namespace, and creating custom objects.

import { GROUP, thing } from '../extensions/definitions.ts';
import type { Connection, Reply } from './connection.ts';

export const NAMESPACE = 'bench';
const COLLECTION = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
/** Length of the one value in each ConfigMap. */
const VALUE_LENGTH = 1024;

export type WorkName = 'create' | 'create-custom' | 'get' | 'list' | 'version';

export interface Work {
  /** Sends the next request. */
  next(connection: Connection): Promise<Reply>;
  readonly expectedStatus: number;
}

const objectName = (serial: number): string => `object-${String(serial).padStart(7, '0')}`;

/**
 * Returns the work of a name. `from`: the number of the first object to create, or the number of
 * objects to read.
 */
export function makeWork(name: WorkName, from: number): Work {
  const value = lettersOf(VALUE_LENGTH);
  switch (name) {
    case 'create':
      return creating(
        COLLECTION,
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: objectName(0) }, data: { value } },
        from,
      );
    case 'create-custom':
      return creating(
        `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/things`,
        thing(objectName(0)),
        from,
      );
    case 'get': {
      // A step that shares no factor with the number of objects visits all of them, in no order.
      let at = 0;
      return {
        expectedStatus: 200,
        next: (connection) =>
          connection.request('GET', `${COLLECTION}/${objectName((at += 7919) % from)}`, undefined),
      };
    }
    case 'list':
      return {
        expectedStatus: 200,
        next: (connection) => connection.request('GET', COLLECTION, undefined),
      };
    case 'version':
      return {
        expectedStatus: 200,
        next: (connection) => connection.request('GET', '/version', undefined),
      };
  }
}

/** Creates objects that differ in their names only. `object` has the name of number 0. */
function creating(path: string, object: object, from: number): Work {
  let serial = from;
  const body = Buffer.from(JSON.stringify(object), 'latin1');
  const nameAt = body.indexOf(objectName(0));
  return {
    expectedStatus: 201,
    // Connections copy the bytes at once.
    next: (connection) => {
      body.write(objectName(serial++), nameAt, 'latin1');
      return connection.request('POST', path, body);
    },
  };
}

/** Returns letters and digits that do not compress well, the same each time. */
function lettersOf(length: number): string {
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
  let state = 1;
  let text = '';
  while (text.length < length) {
    state = (state * 48_271) % 2_147_483_647;
    text += letters[state % letters.length];
  }
  return text;
}
