// The parts of a JSONPath expression for printer columns and selectable fields: the language of
// client-go's package jsonpath, limited to one action without range and end.

export type PathNode =
  | { readonly type: 'field'; readonly name: string }
  | {
      readonly type: 'slice';
      readonly start: number | undefined;
      readonly end: SliceEnd;
      readonly step: number | undefined;
    }
  | { readonly type: 'union'; readonly paths: readonly (readonly PathNode[])[] }
  | {
      readonly type: 'filter';
      readonly left: readonly PathNode[];
      readonly operator: string;
      readonly right: readonly PathNode[];
    }
  | { readonly type: 'wildcard' }
  | { readonly type: 'recursive' }
  /** A value that does not depend on the object. */
  | {
      readonly type: 'literal';
      readonly value: string | number | boolean;
      readonly isFloat?: boolean;
    };

/** The end of a slice. 'next': after its first item, as for [3]. Undefined: the end of the list. */
export type SliceEnd = number | 'next' | undefined;

/** The expression is invalid, or does not fit the object. */
export class JsonPathError extends Error {
  override name = 'JsonPathError';
}
