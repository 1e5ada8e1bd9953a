// Finds out from an error's stack which component it comes from. Costs nothing until there is an
// error; AsyncLocalStorage, which would know for certain, makes each await 2.6 times as expensive
// on Node 20 (196 ns without, 505 ns with it).

import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

/** The folder of src/ in which a frame is, by the file's own path or by its source map. */
const SOURCE = /(?:^|\/)src\/([a-z-]+)\//;
const FRAME = /(?:file:\/\/)?(\/[^():]+):(\d+):(\d+)\)?$/;

/** Folders of shared code. A frame in one of them does not identify the component. */
const SHARED: ReadonlySet<string> = new Set([
  'machinery',
  'client',
  'api',
  'cel',
  'cri',
  'cluster',
  'cli',
]);

/**
 * Folders by frame. To read the source map of the built program takes half a second of the event
 * loop, which must not be the price of each of many errors; to keep it would take more memory than
 * a small cluster.
 */
const folders = new Map<string, string | undefined>();
const MAX_FOLDERS = 1000;

/**
 * Returns the folder of src/ ('kubelet', 'apiserver', …) of the innermost frame that belongs to one
 * component; undefined without one.
 */
export function componentFolderOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return undefined;
  const maps = new Map<string, SourceMap | undefined>();
  for (const line of error.stack.split('\n')) {
    const [place, file, row, column] = FRAME.exec(line.trim()) ?? [];
    if (place === undefined || file === undefined) continue;
    if (!folders.has(place)) {
      if (folders.size >= MAX_FOLDERS) folders.clear();
      folders.set(place, SOURCE.exec(sourceOf(file, Number(row), Number(column), maps))?.[1]);
    }
    const folder = folders.get(place);
    if (folder !== undefined && !SHARED.has(folder)) return folder;
  }
  return undefined;
}

/** Returns the file in which the code was written. `maps`: the source maps that have been read. */
function sourceOf(
  file: string,
  row: number,
  column: number,
  maps: Map<string, SourceMap | undefined>,
): string {
  if (SOURCE.test(file)) return file;
  if (!maps.has(file)) maps.set(file, readMap(`${file}.map`));
  const entry = maps.get(file)?.findEntry(row - 1, column - 1);
  return entry !== undefined && 'originalSource' in entry ? entry.originalSource : file;
}

function readMap(path: string): SourceMap | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return new SourceMap(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    // The map only helps to name the component. Without it the error is logged under "unknown".
    return undefined;
  }
}
