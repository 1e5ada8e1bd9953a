// The pause image, which holds a pod's namespaces: one static program of a few dozen bytes,
// generated here, so that a cluster needs no registry to start its first pod. The program makes the
// kernel reap its children (it is process 1 of a pod with a shared process namespace), and then
// sleeps until it is killed.

import { imageArchive, goArchitecture } from './image-archive.ts';

export const pauseImage = 'coxswain.local/pause:1';

const SIGCHLD = 17;
/** sigaction: SIG_IGN, SA_NOCLDWAIT, no restorer, no mask: ended children do not become zombies. */
const sigaction = [1n, 2n, 0n, 0n];

interface Machine {
  /** e_machine of the ELF header. */
  readonly elf: number;
  /** The program; the sigaction follows it immediately. */
  readonly code: readonly number[];
}

function words(...values: number[]): number[] {
  return values.flatMap((value) => [
    value & 0xff,
    (value >>> 8) & 0xff,
    (value >>> 16) & 0xff,
    value >>> 24,
  ]);
}

/** By node's name of the architecture. */
const machines: Readonly<Record<string, Machine>> = {
  x64: {
    elf: 62,
    // prettier-ignore
    code: [
      0xb8, 13, 0, 0, 0, //               mov   eax, 13 (rt_sigaction)
      0xbf, SIGCHLD, 0, 0, 0, //          mov   edi, SIGCHLD
      0x48, 0x8d, 0x35, 24, 0, 0, 0, //   lea   rsi, [rip + 24] (the sigaction)
      0x31, 0xd2, //                      xor   edx, edx
      0x41, 0xba, 8, 0, 0, 0, //          mov   r10d, 8
      0x0f, 0x05, //                      syscall
      0xb8, 34, 0, 0, 0, //          1:   mov   eax, 34 (pause)
      0x0f, 0x05, //                      syscall
      0xeb, 0xf7, //                      jmp   1b
      0x90, 0x90, 0x90, 0x90, 0x90, //    nop
    ],
  },
  arm64: {
    elf: 183,
    code: words(
      0xd28010c8, //      movz  x8, 134 (rt_sigaction)
      0xd2800220, //      movz  x0, SIGCHLD
      0x10000181, //      adr   x1, the sigaction
      0xd2800002, //      movz  x2, 0
      0xd2800103, //      movz  x3, 8
      0xd4000001, //      svc   0
      0xd2800928, // 1:   movz  x8, 73 (ppoll)
      0xd2800000, //      movz  x0, 0
      0xd2800001, //      movz  x1, 0
      0xd2800002, //      movz  x2, 0
      0xd2800003, //      movz  x3, 0
      0xd2800004, //      movz  x4, 0
      0xd4000001, //      svc   0
      0x17fffff9, //      b     1b
    ),
  },
};

const LOAD_ADDRESS = 0x400000n;
const HEADERS = 64 + 56;

/** Returns the program as an ELF file; undefined for an unsupported architecture. */
export function pauseProgram(arch: string = process.arch): Buffer | undefined {
  const machine = machines[arch];
  if (machine === undefined) return undefined;
  const size = HEADERS + machine.code.length + 8 * sigaction.length;
  const elf = Buffer.alloc(size);
  // ELF header: 64 bit, little endian, executable.
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(elf);
  elf.writeUInt16LE(2, 16);
  elf.writeUInt16LE(machine.elf, 18);
  elf.writeUInt32LE(1, 20);
  elf.writeBigUInt64LE(LOAD_ADDRESS + BigInt(HEADERS), 24);
  elf.writeBigUInt64LE(64n, 32);
  elf.writeUInt16LE(64, 52);
  elf.writeUInt16LE(56, 54);
  elf.writeUInt16LE(1, 56);
  // The only segment: everything, readable and executable.
  elf.writeUInt32LE(1, 64);
  elf.writeUInt32LE(5, 68);
  elf.writeBigUInt64LE(LOAD_ADDRESS, 80);
  elf.writeBigUInt64LE(LOAD_ADDRESS, 88);
  elf.writeBigUInt64LE(BigInt(size), 96);
  elf.writeBigUInt64LE(BigInt(size), 104);
  elf.writeBigUInt64LE(0x1000n, 112);
  Buffer.from(machine.code).copy(elf, HEADERS);
  sigaction.forEach((value, i) =>
    elf.writeBigUInt64LE(value, HEADERS + machine.code.length + 8 * i),
  );
  return elf;
}

/** Returns the image as an archive to import; undefined for an unsupported architecture. */
export function pauseImageArchive(): Buffer | undefined {
  const program = pauseProgram();
  if (program === undefined) return undefined;
  return imageArchive({
    names: [pauseImage],
    files: [{ path: 'pause', content: program }],
    entrypoint: ['/pause'],
    env: ['PATH=/'],
    architecture: goArchitecture(),
  });
}
