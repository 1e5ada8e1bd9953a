// Combines CRC-32 checksums as in gzip. Polynomials over GF(2) have the lowest power in the highest
// bit. The method is that of zlib's crc32_combine: appending n bytes to a text multiplies its
// checksum by x^(8n).

const POLYNOMIAL = 0xedb88320;
const ONE = 0x80000000;

function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= shifted;
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ POLYNOMIAL;
  }
  return product >>> 0;
}

/** x^8, x^16, x^32 …: the factors for 2^k bytes. */
const BYTE_POWERS: readonly number[] = (() => {
  let power = ONE >>> 8;
  return Array.from({ length: 53 }, () => {
    const current = power;
    power = multiply(power, power);
    return current;
  });
})();

/** Returns the checksum of two consecutive texts. `secondLength`: bytes of the second one. */
export function combineCrc32(first: number, second: number, secondLength: number): number {
  let power = ONE;
  for (let rest = secondLength, index = 0; rest > 0; rest = Math.floor(rest / 2), index++) {
    if (rest % 2 === 1) power = multiply(BYTE_POWERS[index]!, power);
  }
  return (multiply(power, first) ^ second) >>> 0;
}
