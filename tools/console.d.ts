// The types of console.js.

import type { Metafile } from 'esbuild';

export declare const MAX_FIRST_PAGE_BYTES: number;

export declare function buildConsole(out: string): Promise<{
  readonly metafile: Metafile;
  /** Bytes of the scripts and styles that the first page loads. */
  readonly size: { readonly plain: number; readonly gzip: number; readonly brotli: number };
}>;
