// The form in which descriptions are written.

export interface TypeDescription {
  readonly type: string;
  readonly fields?: Readonly<Record<string, string>>;
  /**
   * The key of a type whose descriptions apply to fields of the same names, unless `fields` has its
   * own.
   */
  readonly like?: string;
}

/** Descriptions by type key, such as core/v1.Pod. */
export type Descriptions = Readonly<Record<string, TypeDescription>>;
