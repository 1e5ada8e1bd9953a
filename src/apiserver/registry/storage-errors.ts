// Translates the storage's errors for clients.

import * as apierrors from '#machinery/apierrors.ts';
import type { GroupResource } from '#machinery/apierrors.ts';
import { StorageError } from '#storage/interface.ts';
import type { EncodedWatchEvent } from '../request.ts';
import { FreshObject, SharedWatchEvent } from './encoded-object.ts';
import { ConversionError } from './object-converter.ts';

const EXPIRED_WATCH = 'The resourceVersion for the provided watch is too old.';
const EXPIRED_LIST = 'The resourceVersion for the provided list is too old.';

/** An object is too large for the storage (413). Nothing was written. */
export class ObjectTooLarge extends apierrors.StatusError {
  constructor(message: string) {
    super(apierrors.requestEntityTooLarge(message).status);
  }
}

export interface StorageErrorDetails {
  readonly resource?: GroupResource;
  readonly name?: string;
  /** The requested resourceVersion of a list. */
  readonly requestedRevision?: number | string;
}

/** Returns a StatusError for a StorageError; any other error unchanged. */
export function storageToStatus(error: unknown, details: StorageErrorDetails = {}): unknown {
  if (!(error instanceof StorageError)) return error;
  const resource = details.resource ?? { group: '', resource: '' };
  const name = details.name ?? '';
  switch (error.reason) {
    case 'KeyExists':
      return apierrors.alreadyExists(resource, name);
    case 'KeyNotFound':
      return apierrors.notFound(resource, name);
    case 'Conflict':
      return apierrors.conflict(resource, name, apierrors.OPTIMISTIC_LOCK_MESSAGE);
    case 'Expired':
      return apierrors.resourceExpired(
        details.requestedRevision === undefined ? EXPIRED_WATCH : EXPIRED_LIST,
      );
    case 'FutureRevision':
      return apierrors.tooLargeResourceVersion(
        details.requestedRevision ?? 0,
        error.revision ?? 0,
        1,
      );
    case 'Closed':
      return apierrors.serviceUnavailable('the store is closed: the server is shutting down');
    case 'TooLarge':
      return new ObjectTooLarge(error.message);
    case 'NoSpace':
    case 'Corrupt':
      return apierrors.internalError(error);
    case 'SlowWatcher':
    case 'Unavailable':
      return apierrors.serverTimeout(resource, 'storage', 1);
  }
}

/** Returns the ERROR event that ends a watch with a compacted revision or a failure. */
export function watchErrorEvent(error: unknown): EncodedWatchEvent {
  // A failed conversion has a reason in a watch, but not in a list, as upstream.
  const failure =
    error instanceof ConversionError ? apierrors.internalError(error) : storageToStatus(error);
  return new SharedWatchEvent('ERROR', new FreshObject(apierrors.toStatus(failure)));
}
