/** Writes the declarations of the public entries into a folder. `areChecked`: the sources are right. */
export function emitDeclarations(folder: string, options?: { readonly areChecked?: boolean }): void;
/** Returns the text of every declaration file that the public entries reach, by its path below src/. */
export function publicDeclarations(options?: readonly string[]): ReadonlyMap<string, string>;
