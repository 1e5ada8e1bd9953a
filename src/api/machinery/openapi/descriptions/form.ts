// The form in which descriptions are written down.

export interface TypeDescription {
  readonly type: string;
  readonly fields?: Readonly<Record<string, string>>;
  /** The key of a type whose descriptions hold for fields of the same names, unless `fields` has its own. */
  readonly like?: string;
}

/** By type key, such as core/v1.Pod. */
export type Descriptions = Readonly<Record<string, TypeDescription>>;
