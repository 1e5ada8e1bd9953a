/** Returns the entries by their subpath, with the file of src/ that each is made from, and the paths in the package. */
export function packageExports(): Readonly<
  Record<string, { readonly source: string; readonly file: string; readonly types: string }>
>;
/** Returns the value of `exports` in package.json. */
export function exportsField(): unknown;
