// Loads the built program (dist/program.js), as it was compiled before if it was by the same Node
// with the same flags.
//
// To read and compile 4 MB of JavaScript takes Node as long as to start a cluster. What it has
// compiled can be kept: V8 gives it as bytes (a code cache), and takes them again if they come from
// its own version and flags. `cox compile` keeps them beside the program, in a file for each
// version and flags. Such a file counts only for the very program that it was made from: it begins
// with a checksum of both.

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire, Module } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cachedDataVersionTag } from 'node:v8';
import { runInThisContext, Script } from 'node:vm';
import { crc32 } from 'node:zlib';
import type { Build } from '#cli/build.ts';
import type { Program } from './program.ts';

const CHECKSUM_BYTES = 4;

type ModuleFunction = (
  exports: object,
  require: NodeJS.Require,
  module: { exports: object },
  filename: string,
  dirname: string,
) => void;

export interface LoadedProgram<P> extends Build {
  readonly program: P;
}

/** Other versions of V8, other flags, another part of the program: another name. */
const compiledPath = (folder: string, part: string | undefined): string =>
  join(
    folder,
    `${[part, 'program', cachedDataVersionTag().toString(16).padStart(8, '0')].filter(Boolean).join('-')}.compiled`,
  );

export interface LoadOptions {
  /** Where program.js is. Default: beside this. */
  readonly folder?: string;
  /** Of whom what was compiled is kept apart, as he needs other functions than all others. */
  readonly part?: string;
}

export function loadProgram<P = Program>(options: LoadOptions = {}): LoadedProgram<P> {
  const { folder = dirname(fileURLToPath(import.meta.url)), part } = options;
  const filename = join(folder, 'program.js');
  const bytes = readFileSync(filename);
  // The build sees to it that there is nothing but ASCII in it: half the memory of a string with
  // other characters.
  const source = bytes.toString('latin1');
  const checksum = crc32(bytes);
  const path = compiledPath(folder, part);
  const cachedData = readCompiled(path, checksum);
  const script = new Script(source, { filename, cachedData });
  const module = { exports: {} };
  const mapped = wantsSourceMaps();
  const body = mapped ? functionWithSourceMap(filename, source) : functionOf(script, source);
  body(module.exports, createRequire(filename), module, filename, folder);
  return {
    program: module.exports as P,
    // Nothing is to be kept of a script that has not run.
    compiledBefore: mapped || (cachedData !== undefined && script.cachedDataRejected === false),
    keepCompiled() {
      if (mapped)
        throw new Error(
          'with --enable-source-maps the program is not compiled in a form that can be kept',
        );
      writeCompiled(path, checksum, script.createCachedData());
      return path;
    },
  };
}

function functionOf(script: Script, source: string): ModuleFunction {
  // A test runner that gives each test a world of its own (Jest) wants the objects in there to be
  // of that world.
  const inMainContext = runInThisContext('globalThis') === globalThis;
  if (inMainContext) return script.runInThisContext() as ModuleFunction;
  // oxlint-disable-next-line no-eval
  return (0, globalThis.eval)(source) as ModuleFunction;
}

const wantsSourceMaps = (): boolean =>
  [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(' ')].includes(
    '--enable-source-maps',
  );

/** Compiled as Node compiles modules: of these alone does it read source maps. */
function functionWithSourceMap(filename: string, source: string): ModuleFunction {
  const module = new Module(filename) as Module & {
    _compile(content: string, filename: string): void;
  };
  module._compile(`module.exports=${source}`, filename);
  return module.exports as ModuleFunction;
}

/**
 * `program`: its checksum. Undefined: there is nothing, or it is not of this program. V8 itself
 * refuses what it cannot use.
 */
function readCompiled(path: string, program: number): Buffer | undefined {
  if (!existsSync(path)) return undefined;
  const file = readFileSync(path);
  if (file.length <= CHECKSUM_BYTES) return undefined;
  const compiled = file.subarray(CHECKSUM_BYTES);
  return file.readUInt32LE(0) === crc32(compiled, program) ? compiled : undefined;
}

/** All of it or nothing: another process may read it, or write the same, at this moment. */
function writeCompiled(path: string, program: number, compiled: Buffer): void {
  const checksum = Buffer.alloc(CHECKSUM_BYTES);
  checksum.writeUInt32LE(crc32(compiled, program));
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, Buffer.concat([checksum, compiled]));
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
