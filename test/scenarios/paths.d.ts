/** What the path leads to; nothing where a step has nowhere to go. A dot inside a key is written '\.'. */
export declare function valuesAt(object: unknown, path: string): unknown[];
/** For a cell or a line: text as it is, everything else as JSON. */
export declare function formatValue(value: unknown): string;
