/* What a cashier hears and feels when a sale ends. */

let audio = null
export function wakeSound() {
  // browsers allow sound only after a touch
  audio ??= 'AudioContext' in window ? new AudioContext() : null
  void audio?.resume()
}

function tone(frequency, at, length) {
  if (!audio) return
  const [note, volume] = [audio.createOscillator(), audio.createGain()]
  note.frequency.value = frequency
  volume.gain.setValueAtTime(0.25, audio.currentTime + at)
  volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + at + length)
  note.connect(volume).connect(audio.destination)
  note.start(audio.currentTime + at)
  note.stop(audio.currentTime + at + length)
}

export function celebrate() {
  tone(660, 0, 0.18)
  tone(990, 0.16, 0.4)
  navigator.vibrate?.([80, 60, 200])
}

export function warn() {
  tone(220, 0, 0.5)
  navigator.vibrate?.([300])
}
