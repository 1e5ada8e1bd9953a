/** Writes the declarations of the public entries into a folder. */
export function emitDeclarations(folder: string): void;
/** Returns the text of every declaration file that the public entries reach, by its path below src/. */
export function publicDeclarations(): ReadonlyMap<string, string>;
