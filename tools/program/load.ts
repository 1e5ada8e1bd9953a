// Loads the built program (dist/program.js), with code that was compiled earlier by the same Node
// with the same flags, if there is any.
//
//
//
// Reading and compiling 4 MB of JavaScript takes Node as long as starting a cluster. V8 returns the
// compiled code as bytes (a code cache), and accepts them if they come from its own version and
// flags. `cox compile` stores them beside the program, in a file for each version and flags. Such a
// file is valid only for the program that it was made from: it begins with a checksum of both.

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

/**
 * Returns the path of the compiled code. Each version of V8, set of flags and part of the program
 * has a file of its own.
 */
const compiledPath = (folder: string, part: string | undefined): string =>
  join(
    folder,
    `${[part, 'program', cachedDataVersionTag().toString(16).padStart(8, '0')].filter(Boolean).join('-')}.compiled`,
  );

export interface LoadOptions {
  /** The folder of program.js. Default: the folder of this file. */
  readonly folder?: string;
  /**
   * The name of a part of the program, such as a thread, whose compiled code is kept in a file of
   * its own: it uses other functions than the rest of the program.
   */
  readonly part?: string;
}

export function loadProgram<P = Program>(options: LoadOptions = {}): LoadedProgram<P> {
  const { folder = dirname(fileURLToPath(import.meta.url)), part } = options;
  const filename = join(folder, 'program.js');
  const bytes = readFileSync(filename);
  // The build writes only ASCII: the string then takes half the memory of one with other
  // characters.
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
    // A script that has not run has no compiled code to keep.
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
  // A test runner that gives each test a context of its own (Jest) expects objects of that context.
  const inMainContext = runInThisContext('globalThis') === globalThis;
  if (inMainContext) return script.runInThisContext() as ModuleFunction;
  // oxlint-disable-next-line no-eval
  return (0, globalThis.eval)(source) as ModuleFunction;
}

const wantsSourceMaps = (): boolean =>
  [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(' ')].includes(
    '--enable-source-maps',
  );

/** Compiles as Node compiles modules: Node reads source maps of modules only. */
function functionWithSourceMap(filename: string, source: string): ModuleFunction {
  const module = new Module(filename) as Module & {
    _compile(content: string, filename: string): void;
  };
  module._compile(`module.exports=${source}`, filename);
  return module.exports as ModuleFunction;
}

/**
 * Returns the compiled code. `program`: the program's checksum. Undefined: there is none, or it is
 * of another program. V8 itself rejects code that it cannot use.
 */
function readCompiled(path: string, program: number): Buffer | undefined {
  if (!existsSync(path)) return undefined;
  const file = readFileSync(path);
  if (file.length <= CHECKSUM_BYTES) return undefined;
  const compiled = file.subarray(CHECKSUM_BYTES);
  return file.readUInt32LE(0) === crc32(compiled, program) ? compiled : undefined;
}

/**
 * Writes the file completely or not at all: another process may read it, or write the same, at this
 * moment.
 */
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
