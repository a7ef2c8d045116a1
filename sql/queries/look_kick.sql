select bellhop.kick()
