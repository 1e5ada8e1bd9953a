// A kind of heartbeats, and the stored bytes of an object as a template: what a heartbeat changes in
// them, and where.
//
// There is a template only for a state in which a heartbeat changes nothing else, and is no news to
// other writers of the object.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import { formatTime } from '#machinery/text/time.ts';

/** The writer of heartbeats. */
export interface HeartbeatWriter {
  readonly nodeName: string;
  /** The name by which it owns fields. */
  readonly manager: string;
  /** The duration of the Lease; undefined for other kinds. */
  readonly leaseDurationSeconds: number | undefined;
}

/** A stored object whose next heartbeat changes nothing but times. */
export interface HeartbeatTemplate {
  /** The offsets of the times: those that the heartbeat reports, and last that of managed fields. */
  readonly places: readonly number[];
  /** The reported time. Undefined: there are several. */
  readonly time: string | undefined;
  /** The time of managed fields, if an earlier one would change their order. */
  readonly managedTime: string | undefined;
}

export interface HeartbeatKind {
  readonly type: ResourceType;
  readonly subresource: string;
  /** '' for objects without a namespace. */
  readonly namespace: string;
  /** The storage key without the name of the node. */
  readonly prefix: string;
  /** The path of requests up to the name of the node; the subresource follows. */
  readonly path: string;
  readonly contentType: string;
  /** Returns the text of a reported time, which is in milliseconds since the epoch. */
  format(ms: number): string;
  template(value: Uint8Array, writer: HeartbeatWriter): HeartbeatTemplate | undefined;
}

export const MANAGED_TIME = '"time":"';
export const TIME_LENGTH = formatTime(0).length;

/**
 * Returns the offsets of these texts, the values of all fields with one name in their order.
 * Undefined if a text has another length, or if there are other fields with this name.
 */
export function placesOf(
  value: Uint8Array,
  field: string,
  texts: readonly (string | undefined)[],
  length: number,
): readonly number[] | undefined {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const places: number[] = [];
  let at = 0;
  for (const text of texts) {
    at = bytes.indexOf(field, at);
    if (at < 0) return undefined;
    at += field.length;
    // An escaped text has other bytes than the decoded one.
    if (text?.length !== length || bytes.toString('latin1', at, at + length) !== text)
      return undefined;
    places.push(at);
  }
  return bytes.indexOf(field, at) < 0 ? places : undefined;
}
