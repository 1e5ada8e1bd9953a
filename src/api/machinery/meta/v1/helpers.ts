// Type-level views of API types for writes (New) and reads (Immutable), and the common fields of
// all objects.

import type { ObjectMeta } from './types.ts';

type Primitive = string | number | boolean | bigint | null | undefined;

/**
 * The form in which an object is created or applied: every field may be absent, at every depth. The
 * server sets uid, status and defaults. Accepts objects that were read, too.
 */
export type New<T> = T extends Primitive
  ? T
  : T extends readonly (infer Item)[]
    ? readonly New<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]?: New<T[Key]> | undefined }
      : T;

/** The form of objects that were read: immutable at any depth. Copy before modifying. */
export type Immutable<T> = T extends Primitive
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Immutable<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Immutable<T[Key]> }
      : T;

/** An API object of any kind. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Immutable<ObjectMeta>;
}

export interface ListOf<T> {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly T[];
}
