// The mount points of a process, from its mountinfo file in /proc.

/**
 * Returns the fifth field of each line, in the order of mounting; blanks and other special
 * characters are octal escapes.
 */
export function parseMountPoints(mountinfo: string): string[] {
  return mountinfo
    .split('\n')
    .map((line) => line.split(' ')[4])
    .filter((point) => point !== undefined)
    .map((point) =>
      point.replace(/\\(\d{3})/g, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    );
}
