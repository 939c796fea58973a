"""What an editor does with a cast: find scenes, cut reels, draw who meets whom, blur faces."""
