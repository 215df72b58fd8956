const BUCKETS = 256

/** FNV-1a, 32 bit. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0
  }
  return hash
}

/** MurmurHash3's finalizer: scatters texts that differ only in their last character. */
function stirred(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/** The bucket of a company. Stored with each delivery, so it must never change. */
export const bucketOf = (companyId: string): number => hashOf(companyId) % BUCKETS

/**
 * The buckets of one node among the living ones, by rendezvous hashing: each bucket belongs to the node with the
 * highest hash, so that a joining or leaving node moves only its own share.
 */
export function ownedBuckets(name: string, living: readonly string[]): number[] {
  const weightOf = (node: string, bucket: number): number => stirred(hashOf(`${node} ${bucket}`))
  return Array.from({ length: BUCKETS }, (_, bucket) => bucket).filter((bucket) => {
    const own = weightOf(name, bucket)
    return living.every((node) => {
      const other = weightOf(node, bucket)
      return other < own || (other === own && node >= name)
    })
  })
}
