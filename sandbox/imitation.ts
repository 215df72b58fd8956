import type { FastifyInstance } from 'fastify'

/** A provider's imitation, as all of them are plugged into the one port. */
export type Imitation = {
  /** Its place: `/<prefix>/…`. */
  prefix: string
  register(app: FastifyInstance): Promise<void> | void
  /** Scripted trouble by name. @returns whether this provider knows the story */
  tellStory(name: string): boolean
}
