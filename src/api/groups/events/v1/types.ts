// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

/** A report of something that happened to an object. */
export interface Event extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** When the event first occurred. */
  eventTime: string;
  /** Repetitions of the event. */
  series?: EventSeries;
  /** The controller that reports, such as kubernetes.io/kubelet. */
  reportingController?: string;
  /** The instance of the controller. */
  reportingInstance?: string;
  /** Action that was taken or failed. */
  action?: string;
  /** The reason, as one word for programs. */
  reason?: string;
  /** The object that the event is about. */
  regarding: core.ObjectReference;
  /** A second object that is involved. */
  related?: core.ObjectReference;
  /** A description for people, at most 1 KB. */
  note?: string;
  /** Normal or Warning. */
  type?: string;
  /** The component that reports, for core/v1. */
  deprecatedSource: core.EventSource;
  /** When the event first occurred, for core/v1. */
  deprecatedFirstTimestamp: string | null;
  /** When the event last occurred, for core/v1. */
  deprecatedLastTimestamp: string | null;
  /** The number of occurrences, for core/v1. */
  deprecatedCount?: number;
}

/** Repetitions of an event. */
export interface EventSeries {
  /** The number of occurrences. */
  count: number;
  /** When it last occurred. */
  lastObservedTime: string;
}

/** A list of Event objects. */
export interface EventList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: Event[];
}
