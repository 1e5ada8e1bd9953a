// What clients are told of the storage's errors.

import * as apierrors from '#machinery/apierrors.ts';
import type { GroupResource } from '#machinery/apierrors.ts';
import { StorageError } from '#storage/interface.ts';
import type { EncodedWatchEvent } from '../request.ts';
import { FreshObject, SharedWatchEvent } from './encoded-object.ts';
import { ConversionError } from './object-converter.ts';

const EXPIRED_MESSAGE = 'The resourceVersion for the provided watch is too old.';

export interface StorageErrorDetails {
  readonly resource?: GroupResource;
  readonly name?: string;
  /** The resourceVersion that was asked for. */
  readonly requestedRevision?: number | string;
}

/** A StatusError for a StorageError; anything else as it is. */
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
        details.requestedRevision === undefined
          ? EXPIRED_MESSAGE
          : `too old resource version: ${details.requestedRevision} (${error.revision ?? 0})`,
      );
    case 'FutureRevision':
      return apierrors.tooLargeResourceVersion(
        details.requestedRevision ?? 0,
        error.revision ?? 0,
        1,
      );
    case 'Closed':
      return apierrors.serviceUnavailable('the store is closed: the server is shutting down');
    case 'NoSpace':
    case 'Corrupt':
      return apierrors.internalError(error);
    case 'SlowWatcher':
    case 'Unavailable':
      return apierrors.serverTimeout(resource, 'storage', 1);
  }
}

/** The event that ends a watch whose revisions are gone, or that failed. */
export function watchErrorEvent(error: unknown): EncodedWatchEvent {
  // As upstream: a watch has a reason for what a list only has a message for.
  const failure =
    error instanceof ConversionError ? apierrors.internalError(error) : storageToStatus(error);
  return new SharedWatchEvent('ERROR', new FreshObject(apierrors.toStatus(failure)));
}
