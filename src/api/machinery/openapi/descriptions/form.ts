// The form in which descriptions are written down.

export interface TypeDescription {
  readonly type: string;
  readonly fields?: Readonly<Record<string, string>>;
}

/** By type key, such as core/v1.Pod. */
export type Descriptions = Readonly<Record<string, TypeDescription>>;
